"""Confirmation of findings of classes: their calls on real threads, paused as the explorer switches."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcache_conformance.report.issue_text import issue_text
from kcache_conformance.targets.class_names import class_type_name
from kcache_conformance.targets.target_types import target_type_named
from kcache_model.finding import Finding, FindingKind
from kcache_model.object_types.plain import MethodCall, ObjectProgram
from kcache_model.progress import NoProgress
from kcache_model.verdict import Status
from kcache_stress.interleaved import confirming
from kcache_stress.interpreter import has_gil
from kcache_stress.objects.object_exploration import ObjectExplorationTarget
from kcache_stress.target.explore import ExploreOptions, explore
from kcache_stress.target.replay import follow
from stateful_tests.material.front_door import uncommon

CODE = """
import threading

from kcache.testing import Machine, rule

def is_explored():
    return hasattr(threading.Lock(), "scheduler")

class Once:
    def __init__(self):
        self.seen = {}
        self.made = 0

    def make(self):
        if "key" not in self.seen:
            self.seen["key"] = self.made
            self.made += 1
        return self.made

class Stack:
    def __init__(self):
        self.seen = {"key": 1}

    def take(self):
        if self.seen:
            return self.seen.pop("key")

class Locks:
    def __init__(self):
        self.one, self.other = threading.Lock(), threading.Lock()
        self.first, self.second = self.other, self.one

    def one_first(self):
        with self.one:
            with self.other:
                return 1

    def other_first(self):
        with self.first:
            with self.second:
                return 2

class LocksInOrder(Locks):
    def __init__(self):
        super().__init__()
        if not is_explored():
            self.first, self.second = self.one, self.other

class Locked:
    def __init__(self):
        self.lock = threading.Lock()
        self.count = 0
        self._is_free = is_explored()

    def add(self):
        if self._is_free:
            return self._add()
        with self.lock:
            return self._add()

    def _add(self):
        count = self.count
        self.count = count + 1
        return self.count

class Worker:
    def __init__(self):
        self.count = 0
        self.asked, self.done = threading.Semaphore(0), threading.Semaphore(0)
        threading.Thread(target=self.work, daemon=True).start()

    def work(self):
        while True:
            self.asked.acquire()
            count = self.count
            self.count = count + 1
            self.done.release()

class WorkerMachine(Machine):
    def subject(self):
        return Worker()

    @rule()
    def ask(self, worker):
        worker.asked.release()
        worker.done.acquire()
        return worker.count

    @rule()
    def add(self, worker):
        count = worker.count
        worker.count = count + 1
        return worker.count
"""

OPTIONS = ExploreOptions(executions=100, minimise_seconds=0.0, candidates=ExploreOptions(samples=5, executions=20))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    written = tmp_path / "confirmed_classes.py"
    written.write_text(CODE)
    return written


def exploration_target(target: str) -> ObjectExplorationTarget:
    exploring = target_type_named(class_type_name(target)).exploring
    assert exploring is not None
    made = exploring.exploration_target(target, (), OPTIONS.granularity)
    assert isinstance(made, ObjectExplorationTarget)
    return made


def found_in(made: ObjectExplorationTarget, *names: str) -> Finding:
    program = ObjectProgram(threads=tuple((MethodCall(name),) for name in names))
    found = explore(made, program, OPTIONS).finding
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "calls", "kind", "code"),
    [
        ("Once", ("make", "make"), FindingKind.NONLINEARIZABLE, "self.made += 1"),
        ("Stack", ("take", "take"), FindingKind.EXCEPTION, 'return self.seen.pop("key")'),
        ("Locks", ("one_first", "other_first"), FindingKind.DEADLOCK, "with self.other:"),
        ("WorkerMachine", ("add", "add"), FindingKind.NONLINEARIZABLE, "return worker.count"),
    ],
)
def test_what_goes_wrong_with_real_threads_is_confirmed(
    file: Path, name: str, calls: tuple[str, ...], kind: FindingKind, code: str
) -> None:
    found = found_in(exploration_target(f"{file}:{name}"), *calls)
    lines = [number for number, text in enumerate(CODE.splitlines(), 1) if text.strip() == code]
    said = found.detail.splitlines()[-1]
    assert found.kind is kind
    assert said.startswith("confirmed on "), said
    assert said.partition(": the calls go wrong with real threads, paused at ")[2] in [
        f"{file.name}:{line}" for line in lines
    ]
    assert "possible only in free-threaded" not in found.detail or not has_gil()


def test_threads_of_the_object_itself_take_turns_too(file: Path) -> None:
    assert "\nconfirmed on " in found_in(exploration_target(f"{file}:WorkerMachine"), "ask", "ask").detail


@pytest.mark.parametrize(
    ("name", "calls"), [("Locked", ("add", "add")), ("LocksInOrder", ("one_first", "other_first"))]
)
def test_what_goes_wrong_under_the_explorer_alone_is_not_confirmed(
    file: Path, name: str, calls: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confirming, "_PATIENCE", {1.0: 5})
    found = found_in(exploration_target(f"{file}:{name}"), *calls)
    assert ": it may be an artefact" in found.unconfirmed
    assert found.status is Status.UNKNOWN


def test_a_finding_with_results_that_only_virtual_threads_have_is_in_doubt_from_the_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(confirming, "_FREE_RUNS_ON_LOOP", 10)
    add = MethodCall("add", is_async=True)
    made, findings = exploration_target(f"{uncommon.__file__}:OnlyVirtual"), list[Finding]()
    found = explore(made, ObjectProgram(threads=((add,), (add,))), OPTIONS, on_finding=findings.append).finding
    assert found is not None
    assert "real threads did not fail in " in found.unconfirmed
    # The process may end while real threads run: then an earlier one stands.
    doubts = {finding.unconfirmed for finding in findings}
    assert doubts == {"add has other results on real threads than on virtual ones"}


def test_reports_and_replays_say_that_it_is_confirmed(file: Path) -> None:
    target = f"{file}:Once"
    made = exploration_target(target)
    found = found_in(made, "make", "make")
    token = target_type_named(class_type_name(target)).tokens.decode(found.schedule)
    again = follow(made, token, NoProgress()).finding
    assert again is not None
    assert again.detail.startswith("confirmed on ")
    assert "\n## Confirmation\n\nConfirmed on " in issue_text(found.schedule, token, found)
