"""Each replay line works where the command was run that printed it, in the layout that most projects have."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Run = Callable[..., CompletedProcess[str]]

RACY = """
class Bus:
    def __init__(self):
        self.count = 0

    def get(self):
        return self.count

    def send(self):
        self.count = self.get() + 1
"""
LOCKED = """
import threading


class Bus:
    def __init__(self):
        self.count, self.lock = 0, threading.Lock()

    def get(self):
        with self.lock:
            return self.count

    def send(self):
        with self.lock:
            self.count += 1
"""
ADAPTER = """
import kcache
from bus import Bus


def new_indexer(key_func, indexers):
    made = kcache.new_indexer(key_func, indexers)
    made.list = lambda: [Bus()]
    return made
"""
STARTED = """
import threading

from bus import Bus


def test_started():
    bus = Bus()
    thread = threading.Thread(target=bus.send)
    thread.start()
    bus.send()
    thread.join()
    assert bus.count == 2
"""
MARKED = """
from bus import Bus
from kcache import testing as kt


@kt.interleaved
def test_marked():
    bus = Bus()
    kt.run(bus.send, bus.send)
    assert bus.count == 2


class BusMachine(kt.Machine):
    def subject(self):
        return Bus()

    @kt.rule()
    def send(self, bus):
        bus.send()

    @kt.rule()
    def get(self, bus):
        return bus.get()


TestInThreads = kt.in_threads(BusMachine, programs=100)
"""
ADAPTED = """
from bus_adapter import new_indexer
from kcache.testing import run_conformance


def test_adapted():
    run_conformance(new_indexer, phases=["smoke"], most_findings=1)
"""
PLAIN = """
def test_plain():
    raise ValueError("a message,\\ntold in the second line")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a package in ``src`` and tests in ``tests``."""
    files = {
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\ntestpaths = ["tests"]\n',
        "src/bus/__init__.py": RACY,
        "tests/bus_adapter.py": ADAPTER,
        "tests/test_adapted.py": ADAPTED,
        "tests/test_marked.py": MARKED,
        "tests/test_started.py": STARTED,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_replay_line_works_where_it_was_printed(project: Path, run_command: Run) -> None:
    found = run_command(project, "kcache", "run", "pytest", "--", "-q", "-p", "no:cacheprovider")
    assert found.returncode == 1, found.stdout
    lines = dict.fromkeys(re.findall(r"kcache replay [^)\n]+", found.stdout))  # on a CI, pytest's summary repeats each
    assert len(lines) == 4, found.stdout  # of two tests, a machine, and an adapter
    for line in lines:
        assert str(project) not in line
        again = run_command(project, *shlex.split(line))
        assert again.returncode == 1, again.stdout + again.stderr
    of_machine = next(line for line in lines if "BusMachine" in line)
    assert run_command(project, *shlex.split(of_machine), "--pytest", "tests/test_found.py").returncode == 0
    written = run_command(project, "pytest", "-q", "-p", "no:cacheprovider", "tests/test_found.py")
    assert "NONLINEARIZABLE not-linearizable" in written.stdout


KCACHE_RUN = ("kcache", "run", "pytest", "--")


@pytest.mark.parametrize(
    ("on_ci", "command"),
    [
        ("true", KCACHE_RUN),
        ("", ("pytest",)),
        pytest.param("", KCACHE_RUN, marks=pytest.mark.nightly),
        pytest.param("true", ("pytest",), marks=pytest.mark.nightly),
    ],
)
def test_the_short_summary_of_pytest_repeats_no_report(
    on_ci: str, command: tuple[str, ...], project: Path, run_command: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("BUILD_NUMBER", raising=False)
    if on_ci:
        monkeypatch.setenv("CI", on_ci)
    (project / "tests/test_plain.py").write_text(PLAIN, encoding="utf-8")
    files = ("tests/test_marked.py", "tests/test_plain.py", "tests/test_started.py")
    found = run_command(project, *command, "-q", "-p", "no:cacheprovider", *files)
    assert found.returncode == 1, found.stdout
    lines = set(re.findall(r"kcache replay [^)\n]+", found.stdout))
    assert len(lines) == (3 if command[0] == "kcache" else 2), found.stdout
    summary = found.stdout.partition("short test summary info")[2]
    assert "kcache replay" not in summary
    assert summary.count("FAILED") == len(lines) + 1
    assert ("told in the second line" in summary) == bool(on_ci)
    assert re.search("FAILED tests/test_marked.py::test_marked - (Failed: )?FAILURE", summary), summary


def test_what_is_right_passes(project: Path, run_command: Run) -> None:
    (project / "src/bus/__init__.py").write_text(LOCKED, encoding="utf-8")
    (project / "tests/test_adapted.py").unlink()
    passed = run_command(project, "kcache", "run", "pytest", "--", "-q", "-p", "no:cacheprovider")
    assert passed.returncode == 0, passed.stdout
    assert "explored: 1 (1 exhausted" in passed.stdout


def test_a_test_is_explored_without_pytest(project: Path, run_command: Run) -> None:
    command = ("kcache", "explore", "tests/test_started.py::test_started", "-x")  # the name that pytest gives it
    assert run_command(project, *command).returncode == 1
    (project / "src/bus/__init__.py").write_text(LOCKED, encoding="utf-8")
    assert run_command(project, *command).returncode == 0
