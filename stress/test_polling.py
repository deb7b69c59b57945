"""Plain loops that sleep until another thread has changed something are proved; loops with any other effect are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.events import ACQUIRE, QUERY, RELEASE, TRY
from kcache_stress.engine.schedule_replay import Replay
from kcache_stress.engine.search import SearchLimits, SearchResult, search
from kcache_stress.engine.strategy import Coverage, Strategy
from kcache_stress.modules.copies import Copies
from kcache_stress.runtime.threads import clock
from kcache_stress.runtime.threads.polling import missed_look
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

def test_an_attribute_and_a_number_of_items():
    class Job: is_done = False
    job, values = Job(), []
    job.is_done = False
    def work():
        values.append(1)
        values.append(2)
        job.is_done = True
    def wait():
        while not job.is_done or len(values) < 2:
            time.sleep(0.001)
        assert values == [1, 2]
    started(work, wait)

def test_a_variable():
    done = False
    def work():
        nonlocal done
        done = True
    def wait():
        while True:
            if done: return
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

def test_an_event():
    event, values = threading.Event(), []
    def work():
        values.append(1)
        event.set()
    def wait():
        while not event.is_set(): time.sleep(0.01)
        assert values == [1]
    started(work, wait)

def test_a_queue():
    items = queue.Queue()
    def wait():
        while items.empty(): time.sleep(0.01)
        assert items.get() == 1
    started(lambda: items.put(1), wait)

class Job:
    def __init__(self): self.lock, self.done = threading.Lock(), False
    @property
    def is_done(self):
        'Whether it is done.'
        with self.lock: return self.done
    def work(self):
        with self.lock: self.done = True

def test_a_property_with_a_lock():
    job = Job()
    def wait():
        while not job.is_done: time.sleep(0.01)
    started(job.work, wait)

def test_a_block_with_a_lock():
    lock, done = threading.Lock(), []
    def work():
        with lock: done.append(1)
    def wait():
        while True:
            with lock:
                if done: return
            time.sleep(0.01)
    started(work, wait)

def test_a_branch_that_ends_the_loop():
    lock, items, results = threading.Lock(), [], []
    def work():
        with lock: items.append(7)
    def take():
        while True:
            with lock:
                if items:
                    item = items.pop()
                    if item > 5: item -= 5
                    return item
            time.sleep(0.01)
    started(work, lambda: results.append(take()))
    assert results == [2]

def test_a_sleep_in_a_branch_that_ends_the_loop():
    done = []
    def wait():
        while True:
            if done:
                time.sleep(0.01)
                return
            time.sleep(0.02)
    started(lambda: done.append(1), wait)

def test_a_function():
    done = []
    def wait_until(predicate):
        while not predicate(): time.sleep(0.01)
    def wait(): wait_until(lambda: len(done) > 0)
    started(lambda: done.append(1), wait)
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

def test_a_lock_that_another_thread_finds_held():
    lock, done, found = threading.Lock(), [], []
    def wait():
        while True:
            with lock:
                if done: return
            time.sleep(0.01)
    def work():
        for _ in range(2):
            found.append(lock.acquire(blocking=False))
            if found[-1]: lock.release()
        done.append(1)
    started(work, wait)
    assert any(found)
"""

DEPENDING = """
import collections, contextvars, functools, itertools, queue, socket

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

def test_a_function_in_c_that_calls_back():
    ready = []
    def wait():
        while not ready:
            min([0] * 4, key=lambda _: time.sleep(0.001) or 0)
            assert ready
    started(lambda: ready.append(1), wait)

def test_a_function_in_c_around():
    ready = []
    def attempt(found, _):
        while not found and not ready:
            time.sleep(0.001)
            if not ready: break
        return bool(ready)
    def wait(): assert functools.reduce(attempt, [0] * 5, False)
    started(lambda: ready.append(1), wait)

def test_a_value_at_the_same_address():
    ready = []
    def wait():
        t = (0,)
        while not ready:
            t = (t[0] + 1,)
            t = (t[0],)
            assert t[0] < 6
            time.sleep(0.001)
    started(lambda: ready.append(1), wait)

def test_a_context_variable():
    variable = contextvars.ContextVar("variable", default=0)
    def step():
        variable.set(variable.get() + 1)
        assert variable.get() < 5
    waits(step)

def test_what_a_function_has():
    def step(n=0):
        step.__defaults__ = (n + 1,)
        assert n < 5
    waits(step)

def test_an_exception_that_is_raised_again():
    ready, error = [], TimeoutError()
    def check():
        if not ready: raise error
    def depth(tb): return 0 if tb is None else 1 + depth(tb.tb_next)
    def wait():
        while True:
            try:
                check()
                return
            except TimeoutError as e: assert depth(e.__traceback__) < 12
            time.sleep(0.001)
    started(lambda: ready.append(1), wait)

def test_what_a_socket_has_received():
    a, b = socket.socketpair()
    a.send(b"aaab")
    def step():
        if b.recv(1) == b"b": raise ValueError
    waits(step)

def test_the_time_that_has_passed():
    ready = []
    def wait():
        start = time.monotonic()
        while not ready: time.sleep(0.01)
        assert time.monotonic() - start < 0.025
    started(lambda: ready.append(1), wait)

def test_the_time_that_another_thread_sees():
    ready, start = [], []
    def work():
        start.append(time.monotonic())
        while not ready: time.sleep(0.01)
        ready.append(2)
    def other():
        ready.append(1)
        while len(ready) < 2: time.sleep(0.01)
        assert time.monotonic() - start[0] < 0.035
    started(work, other)

def test_locks_that_are_released_for_a_moment():
    a, b, y = threading.Lock(), threading.Lock(), []
    def other():
        with b: pass
        with a: pass
        if not y: 1 / 0
    a.acquire(); b.acquire()
    threads = [threading.Thread(target=other), threading.Thread(target=lambda: y.append(1))]
    for thread in threads: thread.start()
    while not y:
        time.sleep(0.01)
        a.release(); a.acquire()
        b.release(); b.acquire()
    a.release(); b.release()
    for thread in threads: thread.join()

class Truth:
    def __init__(self): self.ready, self.count = [], iter([0] * 4)
    def __bool__(self):
        next(self.count)
        return bool(self.ready)

def test_a_truth_that_is_code():
    truth = Truth()
    def wait():
        while not truth: time.sleep(0.001)
    started(lambda: truth.ready.append(1), wait)

class Described:
    def __init__(self): self.ready, self.count = [], iter([0] * 4)
    @property
    def is_ready(self):
        next(self.count)
        return bool(self.ready)

class Counted:
    def __init__(self): self.ready, self.count = [], 0
    def is_ready(self):
        self.count += 1
        return bool(self.ready)

def test_a_method():
    counted = Counted()
    def wait():
        while not counted.is_ready(): time.sleep(0.001)
    started(lambda: counted.ready.append(1), wait)
    assert counted.count < 6

class Bags(queue.Queue):
    def _qsize(self):
        next(self.count)
        return super()._qsize()

def test_a_queue_of_a_class_of_its_own():
    bags = Bags()
    bags.count = iter([0] * 8)
    def wait():
        while bags.empty(): time.sleep(0.001)
    started(lambda: bags.put(1), wait)

def test_a_lock_that_is_looked_at():
    lock, done = threading.Lock(), []
    def wait():
        while True:
            with lock:
                if done: return
            time.sleep(0.001)
    def work():
        seen = [lock.locked() for _ in range(4)]
        done.append(1)
        assert not all(seen)
    started(work, wait)

numbers = contextvars.ContextVar("number of polls", default=0)
def poll():
    numbers.set(numbers.get() + 1)
    assert numbers.get() < 6

class Counting(type(threading.RLock())):
    def __enter__(self):
        poll()
        return super().__enter__()

class Wrapping:
    def __init__(self): self.lock = threading.Lock()
    def acquire(self, *a): return self.lock.acquire(*a)
    def release(self): self.lock.release()
    def __enter__(self):
        poll()
        self.lock.__enter__()
    def __exit__(self, *a): self.lock.release()

def waits_for_lock(lock):
    done = []
    def wait():
        while True:
            with lock:
                if done: return
            time.sleep(0.001)
    started(lambda: done.append(1), wait)

def test_a_lock_with_code(): waits_for_lock(Counting())
def test_a_condition_of_a_lock_with_code(): waits_for_lock(threading.Condition(Wrapping()))

class Equal:
    __hash__ = None
    def __eq__(self, other):
        poll()
        return False

def test_one_of_two_containers():
    one, other, done = (Equal(),), (Equal(),), []
    def first(): return one or None
    def second(): return other or None
    def wait():
        while first() != second() and not done: time.sleep(0.001)
    started(lambda: done.append(1), wait)

def waits_for_item(items):
    def wait():
        while items.empty(): time.sleep(0.001)
    started(lambda: items.put(1), wait)

def test_a_queue_with_a_method_of_its_own():
    items = queue.Queue()
    def qsize():
        poll()
        return len(items.queue)
    items._qsize = qsize
    waits_for_item(items)

def test_a_queue_with_a_lock_of_its_own():
    items = queue.Queue()
    items.mutex = Wrapping()
    waits_for_item(items)

class Flag:
    def __bool__(self):
        poll()
        return False

def test_an_event_with_a_flag_of_its_own():
    event = threading.Event()
    event._flag = Flag()
    def wait():
        while not event.is_set(): time.sleep(0.001)
    started(event.set, wait)

class Queue:
    # as in a module of the user that is called ``queue``
    def __init__(self): self.mutex, self.queue, self.maxsize = threading.Lock(), collections.deque(), 0
    def empty(self):
        poll()
        return not self.queue
    def put(self, item): self.queue.append(item)

def test_a_class_with_the_name_of_one_of_the_library():
    Queue.__module__ = "queue"
    waits_for_item(Queue())

def test_a_lock_that_another_thread_releases():
    lock, done, stolen = threading.Lock(), [], []
    taken = [threading.Event() for _ in range(3)]
    def wait():
        try:
            while True:
                with lock:
                    if done: return
                time.sleep(0.001)
        except RuntimeError:
            taken[len(stolen) - 1].wait()
            lock.release()
    def work():
        for event in taken:
            try: lock.release()
            except RuntimeError: continue
            stolen.append(1)
            lock.acquire()
            event.set()
            lock.acquire()
            lock.release()
        done.append(1)
    started(wait, work)
    assert len(stolen) < 3

def test_a_property():
    described = Described()
    def wait():
        while not described.is_ready: time.sleep(0.001)
    started(lambda: described.ready.append(1), wait)
"""


def test_they_are_proved_in_a_few_executions(tmp_path: Path) -> None:
    results = dict(investigated(tmp_path, STARTED + PROVED))
    assert len(results) == 12
    for name, result in results.items():
        assert (result.coverage, result.counterexample) == (Coverage.EXHAUSTED, None), (name, result)


def test_what_goes_wrong_after_such_a_loop_is_found(tmp_path: Path) -> None:
    for name, result in investigated(tmp_path, STARTED + FAILING):
        assert result.counterexample is not None, (name, result)


def test_loops_whose_end_depends_on_the_number_of_sleeps_are_not_proved(tmp_path: Path) -> None:
    results = dict(investigated(tmp_path, STARTED + DEPENDING, 300))
    assert len(results) == 34
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
    def twice(self):
        self.x = 1
        self.y = 2
        self.y = 3
    def until_x(self):
        while self.x < 1: time.sleep(0.001)
        self.log += str(self.y)
    def locked(self):
        with self.lock: self.y = 1
        with self.lock:
            self.x = 1
            self.y = 2
    def is_over(self):
        with self.lock: return self.x == 1
    def until_over(self):
        while not self.is_over(): time.sleep(0.001)
        with self.lock: self.log += str(self.y)
    def until_y(self):
        while True:
            with self.lock:
                if self.y: break
            time.sleep(0.001)
        self.log += f"{self.x}{self.y}"
    def until_both(self):
        while not (self.x and self.y): time.sleep(0.001)
        self.log += "b"
"""
PAIRS = [("both", "until_x"), ("both", "until_both"), ("twice", "until_x"), ("other_way_round", "until_both")]
PAIRS += [("other_way_round", "until_x"), ("locked", "until_over"), ("locked", "until_y"), ("locked", "until_both")]


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


def test_a_thread_that_has_ended_keeps_no_frame(tmp_path: Path) -> None:
    path = tmp_path / "polled.py"
    path.write_text(SHARED, encoding="utf-8")

    def setup(load: Load) -> Sequence[Work]:
        made = load(path).Shared()
        return [made.both, made.until_both]

    runner = ScenarioRunner(Scenario((), setup, lambda _: None), Copies((), folder=tmp_path))
    for threads in ((0, 1), (1, 0)):  # whose first
        runner.run(Replay([(thread, 1_000) for thread in threads]))
        assert [thread.last_sleep for thread in runner.sandbox.scheduler.actors.values()] == [None, None]


@pytest.mark.parametrize(
    ("events", "is_missed"),
    [
        ([(1, ACQUIRE, None), (1, TRY, False), (1, RELEASE, True)], False),  # as ``Condition.notify`` asks
        ([(0, ACQUIRE, None), (1, TRY, False)], True),
        ([(0, ACQUIRE, None), (1, QUERY, None)], True),
        ([(0, ACQUIRE, None), (1, RELEASE, True)], True),
    ],
)
def test_who_looks_at_a_lock_of_others_may_miss_an_iteration(
    events: list[tuple[int, int, object]], is_missed: bool
) -> None:
    lock, scheduler = object(), Scheduler()
    scheduler.trace = [(thread, kind, lock, slot) for thread, kind, slot in events]
    scheduler.haste.locks, scheduler.haste.idle = {id(lock)}, "the loop"
    assert missed_look(scheduler) == ("the loop" if is_missed else "")


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
