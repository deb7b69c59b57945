"""Confirmation: schedules of the explorer, taken by real threads."""

from __future__ import annotations

import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kcache_model.finding import Finding, FindingKind
from kcache_model.interleaved_program import InterleavedProgram
from kcache_model.interleaving import decode_interleaving, encode_interleaving
from kcache_model.verdict import Status
from kcache_stress.interleaved import confirming, paused_run
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.interleaved.confirming import Reproduction, confirm
from kcache_stress.interleaved.script import script_of
from kcache_stress.interpreter import has_gil
from kcache_stress.target.confirmation import Answer, answer_of_runs
from kcache_stress.target.explore import ExploreOptions, explore

CODE = """
import threading
import time

from kcache.testing import run

def is_explored():
    return "_kc_mark" in globals()

class Counter:
    def __init__(self):
        self.value = 0
        self.seen = {}
        self.one, self.other = threading.Lock(), threading.Lock()
        self.changed = threading.Condition()

    def add(self):
        self.value += 1

    def add_in_two_lines(self):
        value = self.value
        self.value = value + 1

    def add_locked(self):
        with self.one:
            self.value += 1

    def add_once(self):
        if "key" not in self.seen:
            self.seen["key"] = self.value
            self.value += 1

    def take(self):
        if self.seen:
            self.seen.pop("key")

    def one_first(self):
        with self.one, self.other:
            self.value += 1

    def other_first(self):
        with self.other:
            with self.one:
                self.value += 1

    def wait(self):
        if not self.value:
            with self.changed:
                self.changed.wait()

    def notify(self):
        self.value = 1
        with self.changed:
            self.changed.notify()

def twice(name, wanted):
    counter = Counter()
    run(getattr(counter, name), getattr(counter, name))
    assert counter.value == wanted

def in_one_line():
    twice("add", 2)

def in_two_lines():
    twice("add_in_two_lines", 2)

def check_then_act():
    twice("add_once", 1)

def exception():
    counter = Counter()
    counter.seen["key"] = 1
    run(counter.take, counter.take)

def lock_order():
    counter = Counter()
    run(counter.one_first, counter.other_first)

def lost_notification():
    counter = Counter()
    run(counter.wait, counter.notify)

def in_a_loop():
    counter = Counter()
    def add():
        for _ in range(2):
            counter.add()
    run(add, counter.add)
    assert counter.value == 3

def variable():
    count = 0
    def add():
        nonlocal count
        count += 1
    run(add, add)
    assert count == 2

def compared():
    counter = Counter()
    run(counter.add, counter.add, serializable=True, state=lambda: counter.value)

def own_threads():
    counter = Counter()
    threads = [threading.Thread(target=counter.add) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.value == 2

def artefact():
    twice("add" if is_explored() else "add_locked", 2)

def artefact_that_is_compared():
    counter = Counter()
    add = counter.add if is_explored() else counter.add_locked
    run(add, add, serializable=True, state=lambda: counter.value)

def artefact_in_lock_order():
    counter = Counter()
    run(counter.one_first, counter.other_first if is_explored() else counter.one_first)

def fails_anyway():
    twice("add" if is_explored() else "add_locked", 2 if is_explored() else 3)

def spins():
    counter = Counter()
    def add():
        while not is_explored():
            pass
        counter.add()
    run(add, counter.add)
    assert counter.value == 2

def sleeps():
    counter = Counter()
    def add():
        counter.add()
        time.sleep(86_400)
    run(add, add)
    assert counter.value == 2

def sleeps_a_little():
    counter = Counter()
    time.sleep(0.01)
    run(counter.add, counter.add)
    assert counter.value == 2

def polls():
    counter = Counter()
    run(counter.add, counter.add)
    until = time.monotonic() + 0.02
    while time.monotonic() < until:
        pass
    assert counter.value == 2

def blocks():
    if not is_explored():
        threading.Event().wait()
    twice("add", 2)
"""

OPTIONS = ExploreOptions(executions=100, candidates=ExploreOptions(samples=5, executions=20))


@pytest.fixture
def target(tmp_path: Path) -> str:
    file = tmp_path / "bodies.py"
    file.write_text(textwrap.dedent(CODE))
    return str(file)


def found_in(exploration_target: BodyExplorationTarget, told: Callable[[Finding], None] = lambda _: None) -> Finding:
    found = explore(exploration_target, InterleavedProgram(), OPTIONS, on_finding=told).finding
    assert found is not None
    return found


def said_of(spec: str) -> str:
    """What is said of the confirmation of what the explorer finds in a test."""
    found = found_in(BodyExplorationTarget(spec))
    assert (found.status is Status.UNKNOWN) == bool(found.unconfirmed)
    return found.unconfirmed or found.detail.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "code"),
    {
        "in_one_line": "self.value += 1",
        "in_two_lines": "self.value = value + 1",
        "check_then_act": 'self.seen["key"] = self.value',
        "exception": 'self.seen.pop("key")',
        "lock_order": "with self.one, self.other:",
        "lost_notification": "with self.changed:",
        "in_a_loop": "self.value += 1",
        "variable": "count += 1",
        "compared": "self.value += 1",
    }.items(),
)
def test_what_goes_wrong_with_real_threads_is_confirmed(target: str, name: str, code: str) -> None:
    said = said_of(f"{target}:{name}")
    lines = [number for number, line in enumerate(CODE.splitlines(), 1) if line.strip() == code]
    assert said.startswith("confirmed on "), said
    assert said.partition("real threads, ")[2] in [f"paused at bodies.py:{line}" for line in lines]


def test_threads_that_the_body_starts_itself_are_paused_too(target: str) -> None:
    assert said_of(f"{target}:own_threads").startswith("confirmed on ")


@pytest.mark.parametrize("name", ["artefact", "artefact_that_is_compared", "artefact_in_lock_order"])
def test_what_goes_wrong_under_the_explorer_alone_is_not_confirmed(target: str, name: str) -> None:
    assert ": it may be an artefact" in said_of(f"{target}:{name}")


def test_what_fails_without_interruptions_confirms_none(target: str) -> None:
    assert "even if the real threads run one after another" in said_of(f"{target}:fails_anyway")


@pytest.mark.parametrize("name", ["spins", "blocks"])
def test_bodies_that_do_not_end_are_given_up(target: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paused_run, "_MOST_SECONDS", 0.2)
    monkeypatch.setattr(confirming, "_MOST_STUCK", 1)
    before = set(threading.enumerate())
    assert said_of(f"{target}:{name}").startswith("real threads did not fail")
    left = set(threading.enumerate()) - before if name == "spins" else set()
    spinning = [thread for thread in left if "watchman" not in thread.name]
    for thread in spinning:
        thread.join(60)  # the exception comes in the midst of it; nothing else would end it
    assert not any(thread.is_alive() for thread in spinning)


def test_what_is_confirmed_with_a_gil_does_not_need_a_python_without_one(target: str) -> None:
    told = [found_in(BodyExplorationTarget(f"{target}:{name}")).detail for name in ("in_one_line", "artefact")]
    assert ["possible only in free-threaded" in detail for detail in told] == [not has_gil(), True]
    assert ["only if something pauses the thread" in detail for detail in told] == [has_gil(), False]


def test_no_day_is_slept_through(target: str) -> None:
    found = found_in(BodyExplorationTarget(f"{target}:sleeps"))
    assert found.detail.endswith("\nnot tried with real threads: they would wait for 86,400 s")
    assert found.status is Status.VIOLATION  # everything was seen


@pytest.mark.parametrize("name", ["sleeps_a_little", "polls"])
def test_what_waits_a_little_is_tried(target: str, name: str) -> None:
    assert said_of(f"{target}:{name}").startswith("confirmed on ")


def test_a_finding_is_told_in_full_before_real_threads_try_it(target: str) -> None:
    told: list[Finding] = []
    found = found_in(BodyExplorationTarget(f"{target}:in_two_lines"), told.append)
    assert told[-1].detail.endswith("\nnot tried with real threads to the end: the process ended or froze")
    assert (told[-1].schedule, told[-1].interleaving) == (found.schedule, found.interleaving)


def test_schedules_are_the_same_after_they_were_written(target: str) -> None:
    found = explore(BodyExplorationTarget(f"{target}:in_a_loop"), InterleavedProgram(), OPTIONS).finding
    assert found is not None
    assert found.interleaving is not None
    read = decode_interleaving(encode_interleaving(found.interleaving))
    assert script_of(read) == script_of(found.interleaving)
    assert (
        confirm(Reproduction(lambda: None, 2, lambda _: True, "it goes wrong"), read, FindingKind.LIVELOCK).text == ""
    )


@pytest.mark.parametrize(("until", "runs"), [(0.0, range(10, 13)), (float("inf"), range(400, 450))])
def test_few_runs_are_made_once_the_time_is_up(target: str, until: float, runs: range) -> None:
    found = explore(BodyExplorationTarget(f"{target}:in_two_lines"), InterleavedProgram(), OPTIONS).finding
    assert found is not None
    assert found.interleaving is not None
    passes = Reproduction(lambda: None, 0, lambda _: False, "it goes wrong")
    answer = confirm(passes, found.interleaving, FindingKind.NONLINEARIZABLE, until=until)
    assert answer.answer is Answer.NOT_CONFIRMED
    assert int(answer.text.partition(" in ")[2].split()[0]) in runs


@pytest.mark.parametrize(
    ("kind", "shown", "answer"),
    [
        (FindingKind.FAILURE, FindingKind.FAILURE, Answer.CONFIRMED),
        (FindingKind.DEADLOCK, FindingKind.HANG, Answer.CONFIRMED),
        (FindingKind.DEADLOCK, FindingKind.FAILURE, Answer.NOT_CONFIRMED),
        (FindingKind.FAILURE, FindingKind.HANG, Answer.NOT_CONFIRMED),
        (FindingKind.FAILURE, None, Answer.NOT_CONFIRMED),
    ],
)
def test_real_threads_confirm_what_fails_in_the_same_way(
    kind: FindingKind, shown: FindingKind | None, answer: Answer
) -> None:
    """A thread that never comes back confirms a deadlock, and nothing else does."""
    assert answer_of_runs(kind, shown).answer is answer
