"""Loops that sleep until another thread has changed something are proved, unless their end depends on the sleeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.search import SearchLimits, SearchResult, search
from kcache_stress.engine.strategy import Coverage, Strategy
from kcache_stress.modules.copies import Copies
from kcache_stress.runtime.threads import clock
from kcache_stress.runtime.threads.scheduler import Scheduler
from kcache_stress.strategies.naive import Naive
from kcache_stress.target.scenario_runner import SCENARIO_JUDGE, Load, Scenario, ScenarioRunner, Work
from stress.material.body_support import STARTED, investigated

PROVED = """
import queue

def test_a_flag():
    done = []
    def wait():
        while not done: time.sleep(0.01)
    started(lambda: done.append(1), wait)

def test_what_comes_before_the_flag():
    value, ready = [], []
    def work():
        value.append(7)
        ready.append(1)
    def wait():
        while not ready: time.sleep(0.01)
        assert value == [7]
    started(work, wait)

def test_a_queue():
    jobs, taken = queue.Queue(), []
    def wait():
        while True:
            try:
                taken.append(jobs.get_nowait())
                return
            except queue.Empty:
                time.sleep(0.001)
    started(lambda: jobs.put(1), wait)
    assert taken == [1]

def test_under_a_lock():
    lock, ready = threading.Lock(), []
    def work():
        with lock: ready.append(1)
    def wait():
        while True:
            with lock:
                if ready: return
            time.sleep(0.001)
    started(work, wait)

def test_two_wait_for_each_other():
    one, other = [], []
    def first():
        one.append(1)
        while not other: time.sleep(0.001)
    def second():
        while not one: time.sleep(0.001)
        other.append(1)
    started(first, second)
"""

FAILING = """
def test_what_comes_after_the_flag():
    value, ready = [], []
    def work():
        ready.append(1)
        value.append(7)
    def wait():
        while not ready: time.sleep(0.01)
        assert value == [7]
    started(work, wait)

def test_a_lock_that_the_loop_has_taken():
    lock, ready = threading.Lock(), []
    def work():
        taken = lock.acquire(blocking=False)
        if taken: lock.release()
        ready.append(1)
        assert taken
    def wait():
        while True:
            with lock:
                if ready: return
            time.sleep(0.001)
    started(work, wait)

def test_a_value_that_is_seen_between_two_sleeps():
    x, seen = [0], []
    def work():
        for value in (1, 2, 3): x[0] = value
    def wait():
        last = 0
        while last < 3:
            if x[0] != last:
                last = x[0]
                seen.append(last)
            time.sleep(0.001)
    started(work, wait)
    assert seen != [1, 3]
"""

DEPENDING = """
import itertools

def waits(step):
    ready = []
    def wait():
        while not ready:
            step()
            time.sleep(0.001)
    started(lambda: ready.append(1), wait)

class Delays:
    def __init__(self, delays=None): self.count, self.delays = 0, delays
    def step(self):
        self.count += 1
        assert self.count < 5
    def iterate(self): next(self.delays)

def generated():
    for _ in range(4): yield

def test_a_counter():
    ready = []
    def wait():
        count = 0
        while not ready:
            count += 1
            assert count < 5
            time.sleep(0.001)
    started(lambda: ready.append(1), wait)

def test_a_fraction():
    ready = []
    def wait():
        delay = 0.001
        while not ready:
            time.sleep(delay)
            delay *= 2
            assert delay < 0.01
    started(lambda: ready.append(1), wait)

def test_a_loop_around():
    ready = []
    def wait():
        for _ in [0] * 4:
            while not ready:
                time.sleep(0.001)
                if not ready: break
            else: return
        assert False
    started(lambda: ready.append(1), wait)

def test_an_iterator():
    ready = []
    def wait():
        delays = iter([0.001] * 4)
        while not ready: time.sleep(next(delays))
    started(lambda: ready.append(1), wait)

def test_a_variable_of_another_function():
    count = 0
    def step():
        nonlocal count
        count += 1
        assert count < 5
    waits(step)

def test_the_clock():
    end = []
    def step():
        if not end: end.append(time.monotonic() + 0.004)
        assert time.monotonic() < end[0]
    waits(step)

def test_an_attribute(): waits(Delays().step)
def test_an_iterator_elsewhere(): waits(Delays(iter([0] * 4)).iterate)
def test_a_generator_elsewhere(): waits(Delays(generated()).iterate)
def test_a_counter_elsewhere():
    counter = itertools.count()
    waits(lambda: 1 // (5 - next(counter)))

def test_a_generator():
    ready = []
    def wait():
        delays = generated()
        while not ready:
            next(delays)
            time.sleep(0.001)
    started(lambda: ready.append(1), wait)

def test_a_lock_that_another_looks_at():
    lock, ready = threading.Lock(), []
    def work():
        if lock.acquire(blocking=False): lock.release()
        ready.append(1)
    def wait():
        while True:
            with lock:
                if ready: return
            time.sleep(0.001)
    started(work, wait)
"""


def test_they_are_proved_in_a_few_executions(tmp_path: Path) -> None:
    results = dict(investigated(tmp_path, STARTED + PROVED))
    assert len(results) == 5
    for name, result in results.items():
        assert (result.coverage, result.counterexample) == (Coverage.EXHAUSTED, None), (name, result)


def test_what_goes_wrong_after_such_a_loop_is_found(tmp_path: Path) -> None:
    for name, result in investigated(tmp_path, STARTED + FAILING):
        assert result.counterexample is not None, (name, result)


def test_loops_whose_end_depends_on_the_number_of_sleeps_are_not_proved(tmp_path: Path) -> None:
    results = dict(investigated(tmp_path, STARTED + DEPENDING, 300))
    assert len(results) == 12
    assert not [name for name, result in results.items() if result.coverage is Coverage.EXHAUSTED]


SHARED = """
import threading
import time

class Shared:
    def __init__(self):
        self.x = self.y = 0
        self.log = ""
        self.lock = threading.Lock()
    def both(self):
        self.x = 1
        self.y = 1
    def other_way_round(self):
        self.y = 1
        self.x = 1
    def until_x(self):
        while self.x < 1: time.sleep(0.001)
        self.log += str(self.y)
    def until_both(self):
        while not (self.x and self.y): time.sleep(0.001)
        self.log += "b"
    def last_seen(self):
        while True:
            seen = self.y
            if self.x: break
            time.sleep(0.001)
        self.log += str(seen)
    def locked(self):
        while True:
            with self.lock:
                if self.x: break
            time.sleep(0.001)
        self.log += str(self.y)
"""
PAIRS = [("both", name) for name in ("until_x", "until_both", "last_seen", "locked")]
PAIRS += [("other_way_round", "last_seen"), ("other_way_round", "until_x")]


@pytest.mark.parametrize("calls", PAIRS)
def test_naive_enumeration_of_more_wake_ups_finds_nothing_else(
    calls: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proved, result = _outcomes(tmp_path, calls, Dpor())
    assert result.coverage is Coverage.EXHAUSTED, result
    explore: Callable[..., Any] = Scheduler.explore
    monkeypatch.setattr(clock, "unchanged_since", lambda *_: None)
    monkeypatch.setattr(Scheduler, "explore", lambda self, works, choose, *_: explore(self, works, choose, 3, 9))
    every, _ = _outcomes(tmp_path, calls, Naive())
    assert every == proved


def _outcomes(folder: Path, calls: Sequence[str], strategy: Strategy) -> tuple[set[str], SearchResult]:
    path = folder / "polled.py"
    path.write_text(SHARED, encoding="utf-8")
    logs: set[str] = set()
    made: list[Any] = []

    def setup(load: Load) -> Sequence[Work]:
        made[:] = [load(path).Shared()]
        return [getattr(made[0], call) for call in calls]

    runner = ScenarioRunner(Scenario((), setup, lambda _: logs.add(made[0].log)), Copies((), folder=folder))
    logs.clear()
    result = search(runner, strategy, SCENARIO_JUDGE, SearchLimits(4_000, 60.0))
    return logs, result
