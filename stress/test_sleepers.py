"""Sleeps and waits with a timeout that end at about the same time end in any order; no other interleaving is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kcache_model.interleaved_program import InterleavedProgram, Timeouts
from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.search import SearchLimits, search
from kcache_stress.engine.strategy import Coverage, Strategy
from kcache_stress.modules.copies import Copies
from kcache_stress.strategies.naive import Naive
from kcache_stress.target.scenario_runner import SCENARIO_JUDGE, Load, Scenario, ScenarioRunner, Work
from stress.material.body_support import investigated

SLEEPERS = """
import threading
import time


class Shared:
    def __init__(self):
        self.value = 0
        self.lock = threading.Lock()
        self.event = threading.Event()
        self.log = ""

    def add(self, seconds):
        time.sleep(seconds)
        value = self.value
        self.value = value + 1

    def add_locked(self, seconds):
        time.sleep(seconds)
        with self.lock:
            self.value += 1

    def add_twice(self, seconds):
        for _ in range(2):
            self.add(seconds)

    def note(self, seconds, name):
        time.sleep(seconds)
        with self.lock:
            self.log += name

    def set(self, seconds):
        time.sleep(seconds)
        self.event.set()

    def wait(self, seconds):
        self.log += str(self.event.wait(seconds))
"""

KINDS = {
    "no sleep": (["add(0)", "add(0)"], {"1", "2"}),
    "equal sleeps": (["add(1)", "add(1)"], {"1", "2"}),
    "nearly equal sleeps": (["add(1)", "add(1.04)"], {"1", "2"}),
    "short sleeps": (["add(0.01)", "add(0.01)"], {"1", "2"}),
    "sleeps far apart": (["add(1)", "add(1.1)"], {"2"}),
    "locked": (["add_locked(1)", "add_locked(1)"], {"2"}),
    "one after another": (["note(1, 'a')", "note(1.02, 'b')"], {"0ab", "0ba"}),
    "in order": (["note(1, 'a')", "note(2, 'b')"], {"0ab"}),
    "a chain": (
        ["note(1, 'a')", "note(1.04, 'b')", "note(1.08, 'c')"],
        {"0abc", "0acb", "0bac", "0bca", "0cab", "0cba"},  # who was woken first may be interrupted for long
    ),
    "set in time or too late": (["set(1)", "wait(1)"], {"0True", "0False"}),
    "set in time": (["set(1)", "wait(2)"], {"0True"}),
    "set too late": (["set(2)", "wait(1)"], {"0False"}),
}


def outcomes(folder: Path, calls: Sequence[str], strategy: Strategy) -> tuple[set[str], Coverage, int]:
    """What all interleavings that a strategy tries end in, where no wait is cut short; and how many it took."""
    path = folder / "sleepers.py"
    path.write_text(SLEEPERS, encoding="utf-8")
    found = set()

    def setup(load: Load) -> Sequence[Work]:
        shared = load(path).Shared()

        def check(_: list[object]) -> None:
            found.add(f"{shared.value}{shared.log}" if shared.log else str(shared.value))

        checks[:] = [check]
        return [eval(f"lambda: shared.{call}", {"shared": shared}) for call in calls]

    checks: list[Callable[[list[object]], None]] = []
    copies = Copies((), folder=folder)
    copies.sandbox.scheduler.longest = 0.0
    runner = ScenarioRunner(Scenario((), setup, lambda results: checks[0](results)), copies)
    found.clear()
    result = search(runner, strategy, SCENARIO_JUDGE, SearchLimits(60_000, 60.0))
    return found, result.coverage, result.executions


@pytest.mark.parametrize("kind", KINDS)
def test_sleeps_that_end_together_end_in_any_order(kind: str, tmp_path: Path) -> None:
    calls, expected = KINDS[kind]
    found, coverage, _ = outcomes(tmp_path, calls, Dpor())
    assert found == expected
    assert coverage.is_complete


@pytest.mark.parametrize("kind", [kind for kind, (calls, _) in KINDS.items() if len(calls) < 3])
def test_the_reduction_loses_none_of_them(kind: str, tmp_path: Path) -> None:
    calls, _ = KINDS[kind]
    all_of_them, coverage, many = outcomes(tmp_path, calls, Naive())
    assert coverage.is_complete
    found, _, few = outcomes(tmp_path, calls, Dpor())
    assert found == all_of_them
    assert few <= many or many < 5


def test_threads_that_sleep_again_and_again_are_no_explosion(tmp_path: Path) -> None:
    found, coverage, executions = outcomes(tmp_path, ["add_twice(0.5)", "add_twice(0.5)"], Dpor())
    assert found == {"2", "3", "4"}
    assert coverage.is_complete
    assert executions < 2_000


DELAYS = """
class Counter:
    def __init__(self):
        self.n, self.lock = 0, threading.Lock()
        self.event, self.changed = threading.Event(), threading.Condition()

    def racy(self):
        seen = self.n
        self.n = seen + 1

    def locked(self):
        with self.lock: self.n += 1

    def waits(self, seconds):
        with self.changed: self.changed.wait(seconds)

def of(how, *delays):
    counter = Counter()
    def work(delay):
        delay(counter)
        getattr(counter, how)()
    started(*[lambda delay=delay: work(delay) for delay in delays])
    assert counter.n == 2

def slept(seconds): return lambda counter: time.sleep(seconds)
def of_event(counter): counter.event.wait(0.1)
def of_condition(counter): counter.waits(0.1)

def timers(how):
    counter = Counter()
    both = [threading.Timer(0.1, getattr(counter, how)) for _ in range(2)]
    for timer in both: timer.start()
    for timer in both: timer.join()
    assert counter.n == 2

def loop(how):
    counter = Counter()
    def work():
        for _ in range(2):
            time.sleep(0.1)
            getattr(counter, how)()
    started(work, work)
    assert counter.n == 4
"""

KINDS_OF_DELAYS = """
def test_equal(): of("{how}", slept(0.1), slept(0.1))
def test_long(): of("{how}", slept(1), slept(1))
def test_nearly_equal(): of("{how}", slept(0.1), slept(0.12))
def test_events(): of("{how}", of_event, of_event)
def test_a_condition(): of("{how}", slept(0.1), of_condition)
def test_timers(): timers("{how}")
def test_a_loop(): loop("{how}")
"""


def test_work_after_equal_delays_overlaps_and_a_race_in_it_is_found(tmp_path: Path) -> None:
    for name, result in investigated(tmp_path, DELAYS + KINDS_OF_DELAYS.format(how="racy")):
        assert (name, result.problem is None, result.preemptions > 0) == (name, False, True)


def test_what_is_right_whenever_a_delay_ends_is_proved(tmp_path: Path) -> None:
    for name, result in investigated(tmp_path, DELAYS + KINDS_OF_DELAYS.format(how="locked"), 4_000):
        assert (name, result.problem, result.coverage) == (name, None, Coverage.EXHAUSTED)


WAITS_AGAIN = """
def test_who_waits_looks_at_the_result():
    event, done = threading.Event(), []
    def work():
        done.append(1)
        event.set()
    thread = threading.Thread(target=work)
    thread.start()
    if not event.wait(5):
        event.wait()
    assert done == [1]
    thread.join()
"""

RELIES = """
def test_a_delay_is_long_enough():
    done = []
    thread = threading.Thread(target=lambda: done.append(1))
    thread.start()
    time.sleep(1)
    assert done == [1]

def test_a_timeout_is_long_enough():
    event = threading.Event()
    thread = threading.Thread(target=event.set)
    thread.start()
    assert event.wait(5)
    thread.join(5)
    assert not thread.is_alive()
"""


def test_what_relies_on_a_delay_is_right_under_a_contract_that_is_named(tmp_path: Path) -> None:
    for name, result in investigated(tmp_path, RELIES):
        assert (name, result.problem, result.coverage) == (name, None, Coverage.EXHAUSTED)
        assert result.assumes == "waits of 50 ms or more end only when nothing else can go on"


def test_what_relies_on_a_delay_fails_if_waits_may_end_at_any_time(tmp_path: Path) -> None:
    for name, result in investigated(tmp_path, RELIES, program=InterleavedProgram(timeouts=Timeouts.ANY_TIME)):
        assert (name, result.problem is None, result.is_in_doubt) == (name, False, False)


@pytest.mark.parametrize("timeouts", list(Timeouts))
def test_what_waits_again_is_right_under_both_contracts(timeouts: Timeouts, tmp_path: Path) -> None:
    for name, result in investigated(tmp_path, WAITS_AGAIN, program=InterleavedProgram(timeouts=timeouts)):
        assert (name, result.problem, result.coverage) == (name, None, Coverage.EXHAUSTED)
        assert result.assumes == ""
