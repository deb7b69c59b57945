"""``kcache run pytest``: a suite that knows nothing of kcache; what fails in some order is found, the rest is told."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess, Popen
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


def test_chdir(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
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


_ENOUGH = ("--budget-per-test", "4s")
"""A busy machine needs longer than the default; most tests of these projects end before, by a finding or a proof."""


@pytest.fixture
def run(project: Path, run_command: Callable[..., CompletedProcess[str]]) -> Run:
    """Returns the exit code, the lines of the summary that name a test, and the whole output."""

    def run(*arguments: str) -> tuple[int, list[str], str]:
        options = ("-v", "-p", "no:cacheprovider", "-W", "error", "--kcache-test-first=4")
        done = run_command(project, "kcache", "run", *_ENOUGH, "pytest", "--", *options, *arguments)
        output = done.stdout + done.stderr
        told = re.search(r"=+ kcache: tests that start threads(?: or tasks)? =+\n(.*?)\n=", output, re.DOTALL)
        assert told is not None, output
        return done.returncode, [line for line in told[1].splitlines() if "::" in line], output

    return run


def by_test(lines: list[str]) -> dict[str, tuple[str, str]]:
    """Test without its file -> what came of it, and why."""
    found = (re.fullmatch(r"([a-z, ]*[a-z]): \S+\.py::(\S+): (.*)", line) for line in lines)
    return {told[2]: (told[1], told[3]) for told in found if told is not None}


EXPLORED = {"exhausted": "explored", "sampled": "explored", "no proof": "explored"}
"""Which of these it is depends on the time."""


def outcomes(lines: list[str]) -> dict[str, str]:
    return {name: EXPLORED.get(what, what) for name, (what, _) in by_test(lines).items()}


@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.nightly)])
def test_what_fails_in_some_order_is_found_and_the_rest_is_told(workers: tuple[str, ...], run: Run) -> None:
    code, lines, output = run(*workers)
    assert code == 1
    assert "4 passed" in output
    assert "kcache replay kt1." in output
    locked, racy, changes, process = sorted(lines)
    assert re.fullmatch(r"explored: test_counters.py::test_locked: [0-9]+ executions, exhausted", locked)
    said = "changes the working directory, which all threads share"
    assert re.fullmatch(
        rf"ran as it is: test_counters.py::test_chdir: test_counters.py:[0-9]+ in test_chdir {said}", changes
    )
    place = r"test_counters.py:[0-9]+ in <lambda>"
    start = "ran as it is: test_counters.py::test_process: "
    assert re.fullmatch(rf"{start}{place} starts a process, which cannot be scheduled", process)
    assert racy.startswith(
        "fails in some order: test_counters.py::test_racy: the test fails: assert count(Racy()) == 2"
    )
    at_once, section = output.split("kcache: tests that start threads")
    assert racy in at_once  # a run that is killed keeps its findings
    table = section[section.index("5 tests") :].partition("\n=")[0].splitlines()
    assert table[:2] == ["5 tests, 4 with threads or processes", "  fails in some order: 1"]
    assert re.fullmatch(r"  explored: 1 \(1 exhausted; [0-9]+ executions\)", table[2])
    assert table[3:] == [
        "  not explored: 2",
        f"       1 {changes.split(': ', 2)[2]}",
        f"       1 {process.split(': ', 2)[2]}; kcache does not schedule processes: test the threads without them",
    ]


@pytest.mark.nightly
def test_what_pytest_and_unittest_make_for_a_test_is_made_for_each_execution(project: Path, run: Run) -> None:
    (project / "test_surrounded.py").write_text(SURROUNDED, encoding="utf-8")
    code, lines, _ = run("test_surrounded.py")
    assert code == 1
    told = {line.split("::", 1)[1]: line.split(": ")[0] for line in lines}
    names = {name.rpartition(": ")[0].partition(": ")[0] or name: what for name, what in told.items()}
    assert names == {
        "Case::test_locked": "explored",
        "Case::test_racy": "fails in some order",
        "TestSetUp::test_set_up": "explored",
        "test_always": "ran as it is",
        "test_loop": "explored",
        "test_made[Locked-0]": "explored",
        "test_made[racy-0]": "fails in some order",
    }
    assert "under the explorer it fails in every order" in by_test(lines)["test_always"][1]
    assert "runs a function in an executor" in by_test(lines)["test_loop"][1]


@pytest.mark.nightly
def test_fixtures_of_conftest_and_of_pytest_are_made_for_each_execution(project: Path, run: Run) -> None:
    (project / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (project / "test_fixtures.py").write_text(FIXTURES, encoding="utf-8")
    code, lines, output = run("test_fixtures.py")
    assert code == 1
    told = {name: (what, why) for what, name, why in (line.split(": ", 2) for line in lines)}
    assert {name.removeprefix("test_fixtures.py::"): what for name, (what, _) in told.items()} == {
        "test_kind[Locked]": "explored",
        "test_kind[Racy]": "fails in some order",
        "test_both_print": "explored",
        "test_some_print": "fails in some order",
        "test_beside": "fails in some order",
        "test_config": "explored",
    }, output
    assert all(why.endswith("exhausted") for what, why in told.values() if what == "explored")
    assert "TypeError: 'NoneType' object is not callable" in told["test_fixtures.py::test_beside"][1]


PLACES = """
import threading
import thing_conftest, thing_env, thing_here, thing_ini


def test_places():
    found = []
    modules = (thing_conftest, thing_env, thing_here, thing_ini)
    thread = threading.Thread(target=lambda: found.append({module.BOX for module in modules}))
    thread.start()
    thread.join()
    assert found == [{"beside"}]


class Box:
    count = 0

    def add(self):
        if thing_conftest.BOX == "beside":
            self.count = self.count + 1
        else:
            self.count = 2


def test_racy():
    box = Box()
    thread = threading.Thread(target=box.add)
    thread.start()
    box.add()
    thread.join()
    assert box.count == 2
"""

TWICE = """
import threading
import thing_twice


def test_twice():
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    assert thing_twice.BOX == "beside"
"""


def test_what_pytest_has_imported_is_explored_whatever_else_is_installed(
    tmp_path: Path, run: Run, run_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each module has a twin in site-packages, with which a test fails, or passes that should fail."""
    folders = {"here": ".", "env": "src", "conftest": "lib", "ini": "more", "twice": "a"}
    site = tmp_path / "venv/site-packages"
    for folder in ("a", "b", "tests", *folders.values(), str(site)):
        (tmp_path / folder).mkdir(exist_ok=True, parents=True)
    for way, folder in folders.items():
        (tmp_path / folder / f"thing_{way}.py").write_text("BOX = 'beside'\n", encoding="utf-8")
        (site / f"thing_{way}.py").write_text("BOX = 'installed'\n", encoding="utf-8")
    last = f"import sys\nsys.path[:] = [one for one in sys.path if one != {str(site)!r}] + [{str(site)!r}]\n"
    texts = {
        "tests/test_places.py": PLACES,
        "a/test_twice.py": TWICE,
        "b/thing_twice.py": "BOX = 'elsewhere'\n",  # this folder is collected later, and comes first on the path then
        "b/test_later.py": "def test_later(): pass\n",
        "conftest.py": "import os, sys\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), 'lib'))\n",
        "pytest.ini": "[pytest]\npythonpath = more\n",
        str(site / "sitecustomize.py"): last,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"src:{site}")
    code, lines, output = run("a", "b", "tests")
    assert code == 1
    told = {line.partition("::")[2].partition(":")[0]: line.partition(":")[0] for line in lines}
    assert told == {"test_places": "explored", "test_twice": "explored", "test_racy": "fails in some order"}, output
    (token,) = set(re.findall(r"kcache replay ([^\s)]+)", output))
    done = run_command(tmp_path, "kcache", "replay", token)  # the token holds the path
    assert done.returncode == 1, done.stdout


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
        asked = ("--budget-per-test", budget, "pytest", "--", "-v", "-p", "no:cacheprovider", name)
        done = run_command(project, "kcache", "run", *asked)
        text = "budget spent after 0.5 s: to try more orders, increase --budget-per-test\n"
        assert (text in done.stdout) == is_spent, done.stdout
        assert ("1 exhausted" in done.stdout) != is_spent, done.stdout


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


@pytest.mark.waits
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
    assert outcomes(lines) == {
        "test_beside": "explored",
        "test_locked": "explored",
        "test_racy": "fails in some order",
        "test_racy_through": "fails in some order",
        "test_used": "explored",
    }
    assert output.count("1 preemption (no schedule with fewer fails)") == 2


AROUND = """
import _thread
import os
import threading
import unittest

import pytest
from counters import Locked, Racy


class Worker:
    def __init__(self, counter):
        self.counter, self.go = counter, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        self.go.wait()
        self.counter.add()

    def end(self):
        self.go.set()
        self.thread.join()
        return self.counter.count


@pytest.fixture(scope="module")
def server():
    yield (made := Worker(Locked()))
    made.end()


class TestSetUp:
    def setup_method(self):
        self.worker = Worker(Racy())

    def teardown_method(self):
        self.worker.end()

    def test_racy(self):
        self.worker.go.set()
        self.worker.counter.add()
        assert self.worker.end() == 2


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.worker = Worker(Locked())
        cls.addClassCleanup(cls.worker.end)

    def test_class(self):
        self.assertEqual(self.worker.end(), 1)


def test_server(server):
    assert server.counter.count == 0


def test_server_again(server):
    assert server.counter.count == 0


def test_beside_server():
    assert True


@pytest.mark.parametrize("at_end", [True])
def test_at_end(request, at_end):
    request.addfinalizer(lambda: Worker(Locked()).end())


def test_raw():
    lock = _thread.allocate_lock()
    lock.acquire()
    _thread.start_new_thread(lock.release, ())
    lock.acquire()


def test_kill():
    Worker(Locked()).end()
    os.kill(os.getpid(), 0)


def test_fails():
    assert Worker(Locked()).end() == 2
"""


def test_threads_count_from_setup_to_teardown_whoever_starts_them(project: Path, run: Run) -> None:
    (project / "test_around.py").write_text(AROUND, encoding="utf-8")
    code, lines, output = run("test_around.py")
    assert code == 1
    told = {
        name.split("::", 1)[1]: (what, why)
        for what, name, why in (line.split(": ", 2) for line in lines if "::" in line)
    }
    what = {name: what for name, (what, _) in told.items()}
    assert what == {
        **dict.fromkeys(("Case::test_class", "test_at_end[True]", "test_raw"), "explored"),
        **dict.fromkeys(("test_server", "test_server_again"), "explored"),
        **dict.fromkeys(("test_beside_server", "test_fails", "test_kill"), "ran as it is"),
        "TestSetUp::test_racy": "fails in some order",
    }, output
    assert told["test_beside_server"][1].startswith("threads that the test did not start run beside it: Thread-")
    assert told["test_kill"][1].endswith("in test_kill sends a signal, which no virtual thread can receive")
    assert told["test_fails"][1] == "it fails"
    assert "9 tests, 9 with threads or processes" in output


INTERRUPTED = """
import threading
import time

import counters
from test_counters import count


def test_racy():
    assert count(counters.Racy()) == 2


def test_sleeps():
    open("sleeping", "w").close()
    time.sleep(60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="processes have no groups there")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_with_what_it_has_found(project: Path, number: int) -> None:
    """Ctrl-C reaches all processes of the group, SIGTERM the first one only."""
    (project / "test_interrupted.py").write_text(INTERRUPTED, encoding="utf-8")
    program = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    program += "from kcache.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", program, "run", *_ENOUGH, "pytest", "--"]
    with open(project / "output", "w", encoding="utf-8") as output:
        process = Popen(
            [*command, "-p", "no:cacheprovider", "test_interrupted.py"],
            cwd=project,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            until = time.monotonic() + 120
            while not (project / "sleeping").exists() and time.monotonic() < until:
                time.sleep(0.1)
            assert "fails in some order: test_interrupted.py::test_racy" in (project / "output").read_text("utf-8")
            (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
            assert process.wait(60) == 2
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    told = (project / "output").read_text("utf-8").partition("kcache: tests that start threads")[2]
    assert "fails in some order: test_interrupted.py::test_racy" in told
    assert "1 with threads or processes" in told


def test_only_pytest_can_be_run() -> None:
    done = CliRunner().invoke(main, ["run", "unittest", "tests"])
    assert done.exit_code == 2
    assert "kcache run runs only pytest, not unittest; write kcache run pytest -- tests" in done.output
    done = CliRunner().invoke(main, ["run", "pytest", "--budget-per-test", "soon"])
    assert done.exit_code == 2
    assert "'soon' is not a duration" in done.output


LONG = """
import queue
import threading

import pytest


class Table:
    def __init__(self):
        self.rows, self.count = {}, 0
        self.lock = threading.Lock()

    def put(self, key):
        self.rows[key] = key
        self.count = self.count + 1

    def put_locked(self, key):
        with self.lock:
            self.put(key)


def fill(table, put):
    for number in range(1_000):
        table.rows[-1, number] = number

    def work(who):
        for number in range(100):
            put((who, number))

    threads = [threading.Thread(target=work, args=(who,)) for who in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert table.count == 1_000


def test_long():
    table = Table()
    fill(table, table.put)


def test_long_and_locked():
    table = Table()
    fill(table, table.put_locked)


def block_and_wait(get):
    waiting = queue.Queue(10)
    producer = threading.Thread(target=lambda: [waiting.put(number) for number in range(16)])
    consumer = threading.Thread(target=lambda: [waiting.get() for _ in range(5)])
    producer.start()
    consumer.start()
    consumer.join()
    assert get(waiting) == 5
    producer.join()


def test_gets_what_may_not_be_there():
    block_and_wait(queue.Queue.get_nowait)


def test_waits_for_it():
    block_and_wait(queue.Queue.get)


def test_fails():
    producer = threading.Thread(target=int)
    producer.start()
    assert not producer
"""


@pytest.mark.parametrize(
    ("chosen", "expected", "failure"),
    [
        (
            "test_long or test_fails",
            {"test_long": "fails in some order", "test_long_and_locked": "explored", "test_fails": "ran as it is"},
            "the test fails: assert table.count == 1",
        ),
        pytest.param(
            "test_gets or test_waits",
            {"test_gets_what_may_not_be_there": "fails in some order", "test_waits_for_it": "explored"},
            "the test ended with Empty",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_long_loops_are_explored_and_one_preemption_comes_first(
    project: Path, run: Run, chosen: str, expected: dict[str, str], failure: str
) -> None:
    (project / "test_loops.py").write_text(LONG, encoding="utf-8")
    code, lines, output = run("test_loops.py", "-k", chosen, "--kcache-test-budget=4")  # a slow machine needs 1 s
    assert code == 1
    told = {name.partition("::")[2]: (kind, text) for kind, name, text in (line.split(": ", 2) for line in lines)}
    assert {name: kind for name, (kind, _) in told.items()} == expected, output
    texts = dict(told.values())
    assert failure in texts["fails in some order"]
    assert texts["explored"].endswith("budget spent")
    assert texts.get("ran as it is", "it fails").startswith("it fails")
    assert output.count("1 preemption") == 1
