"""``kcache run pytest`` on tests that pass although exceptions end some of their threads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from kcache.test_run_pytest import COUNTERS

SUITE = """
import threading

from counters import Locked, Racy


def run(*works):
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def count_and_fail(counter):
    def work():
        counter.add()
        raise ValueError("as always")

    run(work, work, 1)
    assert counter.count == 2


def test_loses_and_fails():
    count_and_fail(Racy())


def test_fails():
    count_and_fail(Locked())


def check_then_take(stock, lock):
    def work():
        with lock:
            is_there = bool(stock)
        if is_there:
            stock.remove(1)
        raise KeyError("as always")

    run(work, work)


def test_fails_differently():
    check_then_take([1], threading.Lock())
"""

Run = Callable[..., CompletedProcess[str]]


@pytest.fixture
def explored(tmp_path: Path, run_command: Run) -> Callable[..., tuple[int, str]]:
    """Returns the exit code of a run on a file, and all that it wrote."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "counters.py").write_text(COUNTERS, encoding="utf-8")
    (tmp_path / "test_ends.py").write_text(SUITE, encoding="utf-8")

    def run(*arguments: str) -> tuple[int, str]:
        options = ("-v", "-p", "no:cacheprovider", "-W", "ignore", "--kcache-test-first=20")
        done = run_command(tmp_path, "kcache", "run", "--budget-per-test", "20s", "pytest", "--", *options, *arguments)
        return done.returncode, done.stdout + done.stderr

    return run


def test_exceptions_that_end_threads_where_the_test_passes_are_no_finding(
    explored: Callable[..., tuple[int, str]],
) -> None:
    code, output = explored("test_ends.py")
    assert code == 1
    assert (
        "fails in some order: test_ends.py::test_loses_and_fails: the test fails: assert counter.count == 2" in output
    )
    assert "explored: 1 (1 exhausted; " in output
    differently = (
        "fails in some order: test_ends.py::test_fails_differently: a thread of the code under test ended with"
    )
    assert f"{differently} ValueError: list.remove(x): x not in list" in output
    assert "not confirmed" not in output
    assert "confirmed on" in output
