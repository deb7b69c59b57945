"""``kcache run pytest``: a suite that knows nothing of kcache; what fails in some order is found, the rest is told."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from click.testing import CliRunner

from kcache.cli import main

Run = Callable[..., tuple[int, list[str], str]]

COUNTERS = """
import threading


class Racy:
    def __init__(self):
        self.count = 0

    def get(self):
        return self.count

    def add(self):
        self.count = self.get() + 1


class Locked(Racy):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()

    def add(self):
        with self.lock:
            super().add()
"""

SUITE = """
import subprocess
import sys
import threading

import pytest
from counters import Locked, Racy


def count(counter):
    thread = threading.Thread(target=counter.add)
    thread.start()
    counter.add()
    thread.join()
    return counter.count


def test_racy():
    assert count(Racy()) == 2


def test_locked():
    assert count(Locked()) == 2


def test_needs(capfd):
    assert count(Locked()) == 2


def test_process():
    ended = []
    thread = threading.Thread(target=lambda: ended.append(subprocess.run([sys.executable, "-c", ""]).returncode))
    thread.start()
    thread.join()
    assert ended == [0]


def test_alone():
    assert Racy().get() == 0
"""

SURROUNDED = """
import asyncio
import os
import unittest

import pytest
from counters import Locked, Racy
from test_counters import count

os.environ.setdefault("COLLECTED_BY", str(os.getpid()))


@pytest.fixture
def made(kind, tmp_path):
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("")
    yield kind()


@pytest.mark.parametrize("more", [0])
@pytest.mark.parametrize("kind", [Locked, pytest.param(Racy, id="racy")])
def test_made(made, more):
    assert count(made) == 2 + more


class TestSetUp:
    def setup_method(self):
        self.counter = Locked()

    def test_set_up(self):
        assert count(self.counter) == 2


class Case(unittest.TestCase):
    def setUp(self):
        self.kind = Racy

    def test_locked(self):
        self.assertEqual(count(Locked()), 2)

    def test_racy(self):
        self.assertEqual(count(self.kind()), 2)


def test_loop():
    async def ask():
        return await asyncio.get_running_loop().run_in_executor(None, lambda: 3)

    assert asyncio.run(ask()) == 3


def test_always():
    assert count(Locked()) == 2
    assert os.environ["COLLECTED_BY"] == str(os.getpid())
"""

CONFTEST = """
import counters
import pytest


@pytest.fixture(params=["Racy", "Locked"])
def kind(request, monkeypatch):
    monkeypatch.setattr("counters.Chosen", getattr(counters, request.param), raising=False)


@pytest.fixture(autouse=True, name="unasked")
def _unasked(monkeypatch):
    monkeypatch.setenv("UNASKED", "1")
"""

FIXTURES = """
import os
import threading

import counters
import pytest
from test_counters import count


def test_kind(kind):
    assert count(counters.Chosen()) == 2
    assert os.environ["UNASKED"] == "1"


def printed(capsys):
    threads = [threading.Thread(target=print, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return capsys.readouterr().out.split()


def test_some_print(capsys):
    assert printed(capsys) == ["a", "b"]


def test_both_print(capsys):
    assert sorted(printed(capsys)) == ["a", "b"]


def test_beside(monkeypatch):
    thread = threading.Thread(target=counters.Locked().add)
    thread.start()
    monkeypatch.setattr(counters.Racy, "add", None)
    thread.join()


def test_config(request):
    assert count(counters.Locked()) == 2
    assert request.config
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "counters.py").write_text(COUNTERS, encoding="utf-8")
    (tmp_path / "test_counters.py").write_text(SUITE, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(project: Path, run_command: Callable[..., CompletedProcess[str]]) -> Run:
    """Gives the exit code, the lines of the summary, and all that was printed."""

    def run(*arguments: str) -> tuple[int, list[str], str]:
        options = ("-p", "no:cacheprovider", "-W", "error")
        done = run_command(project, "kcache", "run", "pytest", "--", *options, *arguments)
        output = done.stdout + done.stderr
        told = re.search(r"=+ kcache: tests that start threads =+\n(.*?)\n=", output, re.DOTALL)
        assert told is not None, output
        return done.returncode, told[1].splitlines(), output

    return run


@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.nightly)])
def test_what_fails_in_some_order_is_found_and_the_rest_is_told(workers: tuple[str, ...], run: Run) -> None:
    code, lines, output = run(*workers)
    assert code == 1
    assert "4 passed" in output
    assert "kcache replay kt1." in output
    locked, needs, process, racy, counts = lines
    assert re.fullmatch(r"explored: test_counters.py::test_locked: [0-9]+ executions, exhausted", locked)
    assert needs == "ran as it is: test_counters.py::test_needs: it needs the fixture capfd"
    place = r"test_counters.py:[0-9]+ in <lambda>"
    start = "ran as it is: test_counters.py::test_process: "
    assert re.fullmatch(rf"{start}{place} starts a process, which cannot be scheduled", process)
    assert racy.startswith(
        "fails in some order: test_counters.py::test_racy: the test fails: assert count(Racy()) == 2"
    )
    assert counts == "1 fails in some order, 1 explored, 2 ran as it is; 1 start none"


@pytest.mark.nightly
def test_what_pytest_and_unittest_make_for_a_test_is_made_for_each_execution(project: Path, run: Run) -> None:
    (project / "test_surrounded.py").write_text(SURROUNDED, encoding="utf-8")
    code, lines, _ = run("test_surrounded.py")
    assert code == 1
    told = {line.split("::", 1)[1]: line.split(": ")[0] for line in lines[:-1]}
    names = {name.rpartition(": ")[0].partition(": ")[0] or name: what for name, what in told.items()}
    assert names == {
        "Case::test_locked": "explored",
        "Case::test_racy": "fails in some order",
        "TestSetUp::test_set_up": "explored",
        "test_always": "ran as it is",
        "test_loop": "ran as it is",
        "test_made[Locked-0]": "explored",
        "test_made[racy-0]": "fails in some order",
    }
    (always,) = (line for line in lines if "test_always" in line)
    assert "under the explorer it fails in every order" in always
    (loop,) = (line for line in lines if "test_loop" in line)
    assert "its event loop cannot be scheduled" in loop


@pytest.mark.nightly
def test_fixtures_of_conftest_and_of_pytest_are_made_for_each_execution(project: Path, run: Run) -> None:
    (project / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (project / "test_fixtures.py").write_text(FIXTURES, encoding="utf-8")
    code, lines, output = run("test_fixtures.py")
    assert code == 1
    told = {name: (what, why) for what, name, why in (line.split(": ", 2) for line in lines[:-1])}
    assert {name.removeprefix("test_fixtures.py::"): what for name, (what, _) in told.items()} == {
        "test_kind[Locked]": "explored",
        "test_kind[Racy]": "fails in some order",
        "test_both_print": "explored",
        "test_some_print": "fails in some order",
        "test_beside": "ran as it is",
        "test_config": "ran as it is",
    }, output
    assert all(why.endswith("exhausted") for what, why in told.values() if what == "explored")
    assert "in test_beside (monkeypatch sets add) while other threads run" in told["test_fixtures.py::test_beside"][1]
    assert "in test_config asks for request.config" in told["test_fixtures.py::test_config"][1]


MANY_ORDERS = """
import threading
from counters import Locked

def test_many():
    counter = Locked()
    threads = [threading.Thread(target=lambda: [counter.add() for _ in range(9)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.count == 27
"""


def test_where_a_budget_was_spent_the_option_that_tries_more_is_named(
    project: Path, run_command: Callable[..., Any]
) -> None:
    (project / "test_many.py").write_text(MANY_ORDERS, encoding="utf-8")
    for name, budget, is_spent in (("test_many.py", "0.5s", True), ("test_counters.py::test_locked", "100s", False)):
        asked = ("--budget-per-test", budget, "pytest", "--", "-p", "no:cacheprovider", name)
        done = run_command(project, "kcache", "run", *asked)
        assert ("executions, budget spent\n" in done.stdout) == is_spent, done.stdout
        assert ("budget spent after 0.5 s: --budget-per-test tries more orders\n" in done.stdout) == is_spent


STANDSTILL = """
import subprocess
import sys
import threading
import time


def in_threads(*works):
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_in_a_circle():
    one, other, met = threading.Lock(), threading.Lock(), threading.Barrier(2)

    def takes(first, second):
        with first:
            met.wait()
            with second:
                pass

    in_threads(lambda: takes(one, other), lambda: takes(other, one))


def test_at_work():
    until = time.process_time() + 0.6
    while time.process_time() < until:
        pass
    in_threads(int)


def test_waits_for_another_process():
    in_threads(int)
    subprocess.run([sys.executable, "-c", "import time; time.sleep(0.8)"], check=True)
"""


def test_a_test_that_stands_still_is_ended_and_explored(project: Path, run_command: Callable[..., Any]) -> None:
    """And one that works for longer than that is not, nor one that waits for another process."""
    (project / "test_standstill.py").write_text(STANDSTILL, encoding="utf-8")
    asked = ("--patience", "0.3s", "--budget-per-test", "1s", "pytest", "--", "-p", "no:cacheprovider")
    done = run_command(project, "kcache", "run", *asked, "test_standstill.py")
    assert done.returncode == 1, done.stderr
    assert "DEADLOCK" in done.stdout
    assert "1 failed, 2 passed" in done.stdout
    assert "kcache replay kt1." in done.stdout


LOGGING = """
import logging
import threading

import pytest
from counters import Locked, Racy

LOG = logging.getLogger("counters")


def count(counter):
    def work():
        counter.add()
        LOG.warning("added %d", 1)

    thread = threading.Thread(target=work)
    thread.start()
    counter.add()
    thread.join()
    return counter.count


@pytest.fixture
def quiet(caplog):
    with caplog.at_level(logging.ERROR):
        yield


def test_racy(caplog):
    assert count(Racy()) == 2


def test_locked(caplog):
    assert count(Locked()) == 2


def test_racy_through(quiet):
    assert count(Racy()) == 2


def test_used(caplog):
    caplog.set_level(logging.INFO, "counters")
    count(Locked())
    LOG.info("done")
    assert caplog.messages == ["added 1", "done"]
    assert "WARNING  counters:test_logging.py:" in caplog.text
    caplog.clear()
    assert caplog.record_tuples == []


def test_beside(caplog):
    thread = threading.Thread(target=Locked().add)
    thread.start()
    assert not caplog.records
    thread.join()
"""


def test_what_is_logged_keeps_no_test_from_the_explorer(project: Path, run: Run) -> None:
    (project / "test_logging.py").write_text(LOGGING, encoding="utf-8")
    code, lines, output = run("test_logging.py")
    assert code == 1
    told = {line.split("::", 1)[1].partition(":")[0]: line.split(": ")[0] for line in lines if "::" in line}
    assert told == {
        "test_beside": "ran as it is",
        "test_locked": "explored",
        "test_racy": "fails in some order",
        "test_racy_through": "fails in some order",
        "test_used": "explored",
    }
    assert "caplog.records reads what was logged" in output
    assert output.count("1 preemption (no schedule with fewer does it)") == 2


def test_a_logging_fixture_of_a_plugin_is_left_to_it(project: Path, run: Run) -> None:
    (project / "test_logging.py").write_text(LOGGING, encoding="utf-8")
    plugin = "import pytest\n\n\n@pytest.fixture\ndef caplog():\n    return []\n"
    (project / "louder.py").write_text(plugin, encoding="utf-8")
    (project / "conftest.py").write_text('pytest_plugins = ["louder"]\n', encoding="utf-8")
    _, lines, output = run("test_logging.py", "-k", "test_locked")
    assert "ran as it is: test_logging.py::test_locked: it needs the fixture caplog" in lines, output


def test_only_pytest_can_be_run() -> None:
    done = CliRunner().invoke(main, ["run", "unittest", "tests"])
    assert done.exit_code == 2
    assert "only pytest can be run, not unittest; write kcache run pytest -- tests" in done.output
    done = CliRunner().invoke(main, ["run", "pytest", "--budget-per-test", "soon"])
    assert done.exit_code == 2
    assert "'soon' is no duration" in done.output
