"""``kcache run pytest`` with a large budget: each test gets its first orders before any test gets more of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

TESTS = """
import threading


def start():
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()


def test_first():
    start()


def test_racy():
    start()


def test_done():
    start()
"""

CONFTEST = """
from pathlib import Path

from kcache import pytest_interleaving
from kcache.pytest_summary import EXHAUSTED, FOUND, SAMPLED, Outcome


def searched(search, seconds):
    name = search.item.name
    with Path("searched").open("a") as file:
        file.write(f"{name} {seconds:g}\\n")
    if name == "test_done":
        return Outcome(EXHAUSTED, executions=3), ""
    if seconds < 5:
        return Outcome(SAMPLED, executions=10), ""
    if name == "test_racy":
        return Outcome(FOUND, "too late"), "what happened"
    return Outcome(SAMPLED, executions=90), ""


pytest_interleaving._searched = searched
"""

FIRST = ["test_first 2", "test_racy 2", "test_done 2"]


Run = Callable[..., tuple[int, list[str], list[str]]]


@pytest.fixture
def run(tmp_path: Path, run_command: Callable[..., CompletedProcess[str]]) -> Run:
    """Returns the exit code, the searches in their order, and what is printed."""
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    searched = tmp_path / "searched"

    def run(*arguments: str) -> tuple[int, list[str], list[str]]:
        searched.unlink(missing_ok=True)
        done = run_command(tmp_path, "kcache", "run", "--budget-per-test", "8s", "pytest", "--", *arguments)
        return done.returncode, searched.read_text(encoding="utf-8").splitlines(), done.stdout.splitlines()

    return run


def test_searches_go_on_when_all_tests_have_run(run: Run) -> None:
    code, searched, output = run("-v")
    assert code == 1
    assert searched == [*FIRST, "test_first 8", "test_racy 8"]
    ends = [line for line in output if line.startswith("test_some.py::") and "PASSED" in line]
    assert len(ends) == 3
    told = "fails in some order: test_some.py::test_racy: too late"
    assert output.index(told) > max(map(output.index, ends))
    assert "what happened" in output
    assert "  explored: 2 (1 exhausted, 1 sampled; 93 executions)" in output


def test_what_failed_last_is_searched_first(run: Run) -> None:
    run()
    assert run()[1] == [*FIRST, "test_racy 8", "test_first 8"]


def test_a_first_failure_ends_the_searches(run: Run) -> None:
    run()
    assert run("-x")[1] == [*FIRST, "test_racy 8"]


def test_workers_search_on_too(run: Run) -> None:
    code, searched, output = run("-n", "2")
    assert code == 1
    assert sorted(searched) == sorted([*FIRST, "test_first 8", "test_racy 8"])
    assert "fails in some order: test_some.py::test_racy: too late" in output
    assert "  explored: 2 (1 exhausted, 1 sampled; 93 executions)" in output
