"""Threads beside an event loop: outcomes equal those of a simulation; executors are proved; what is unsafe is named."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcache_model.finding import FindingKind
from kcache_model.interleaved_program import InterleavedProgram, Timeouts
from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.search import SearchLimits, search
from kcache_stress.engine.strategy import Coverage, Ending
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.runtime.tasks.unsupported import FROM_OTHER_THREAD
from kcache_stress.target.explore import ExploreOptions, explore

Step = tuple[str, int]

AROUND = """
import asyncio
import threading

async def test_it():
    log, loop = [], asyncio.get_running_loop()
    done = loop.create_future()
    def work():
        for number in {thread}: loop.call_soon_threadsafe(log.append, number)
        loop.call_soon_threadsafe(done.set_result, None)
    thread = threading.Thread(target=work)
    thread.start()
{main}
    await done
    thread.join()
    return tuple(log)
"""
TEXTS = {"log": "log.append({0})", "soon": "loop.call_soon(log.append, {0})", "yield": "await asyncio.sleep(0)"}


def simulated(main: tuple[Step, ...], thread: tuple[int, ...]) -> set[tuple[int, ...]]:
    """Return the logs of all orders of the steps of a loop and of a thread, by a machine of its own.

    The loop has a queue of what is ready. It does one step at a time, and between two steps the thread may append.
    """
    outcomes: set[tuple[int, ...]] = set()
    calls = [("log", number) for number in thread] + [("set", 0)]
    # What runs now, the rest of the iteration, the queue, the position of the thread, whether `done` is set, the log.
    todo = [((("main", 0),), 0, (), 0, False, ())]
    known = set(todo)
    while todo:
        now, left, queue, position, is_set, log = todo.pop()
        following = []
        if position < len(calls):
            following.append((now, left, (*queue, calls[position]), position + 1, is_set, log))
        if now:
            ((what, number),) = now
            if what == "log":
                following.append(((), left, queue, position, is_set, (*log, number)))
            elif what == "set":
                following.append(((), left, (*queue, ("main", -2)) if is_set is None else queue, position, True, log))
            elif what == "append":  # the task yields: its next step is appended
                following.append(((), left, (*queue, ("main", number)), position, is_set, log))
            elif number == -2 or (number == len(main) and is_set):
                outcomes.add(log)
                continue
            elif number == len(main):
                following.append(((), left, queue, position, None, log))  # it waits for `done`
            else:
                kind, value = main[number]
                if kind == "log":
                    following.append(((("main", number + 1),), left, queue, position, is_set, (*log, value)))
                elif kind == "soon":
                    item = ("log", value)
                    following.append(((("main", number + 1),), left, (*queue, item), position, is_set, log))
                else:
                    following.append(((("append", number + 1),), left, queue, position, is_set, log))
        elif left:
            following.append(((queue[0],), left - 1, queue[1:], position, is_set, log))
        elif queue:
            following.append(((), len(queue), queue, position, is_set, log))
        fresh = [state for state in following if state not in known]
        known.update(fresh)
        todo += fresh
    return outcomes


def explored(folder: Path, main: tuple[Step, ...], thread: tuple[int, ...]) -> set[tuple[int, ...]] | None:
    lines = "\n".join(f"    {TEXTS[kind].format(value)}" for kind, value in main)
    file = folder / "beside_program.py"
    file.write_text(AROUND.format(thread=thread, main=lines), encoding="utf-8")
    seen: set[tuple[int, ...]] = set()

    def look(execution) -> None:
        assert execution.ending in (Ending.COMPLETE, Ending.REDUNDANT)
        if execution.ending is Ending.COMPLETE:
            (end,) = execution.outcomes[0]
            seen.add(end.value)

    with BodyExplorationTarget(f"{file}:test_it").open_runner(InterleavedProgram()) as (runner, _):
        result = search(runner, Dpor(), None, SearchLimits(3_000), on_execution=look)
    return seen if result.coverage is Coverage.EXHAUSTED else None


def programs(count: int) -> Iterator[tuple[tuple[Step, ...], tuple[int, ...]]]:
    for seed in range(count):
        choose = random.Random(seed)
        numbers = itertools.count()
        main = tuple((choose.choice(("log", "soon", "yield")), next(numbers)) for _ in range(choose.randrange(1, 5)))
        yield main, tuple(10 + number for number in range(choose.randrange(3)))


@pytest.mark.parametrize("count", [25, pytest.param(400, marks=pytest.mark.nightly)])
def test_all_orders_of_a_loop_and_a_thread_are_seen(count: int, tmp_path: Path) -> None:
    compared = several = 0
    for main, thread in programs(count):
        found, expected = explored(tmp_path, main, thread), simulated(main, thread)
        if found is None:
            continue
        assert found == expected, f"{main} {thread}\nmissing {expected - found}, too many {found - expected}"
        compared += 1
        several += len(expected) > 1
    assert compared >= count // 2
    assert several > count // 5


SUPPORT = """
import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

class Counter:
    def __init__(self, is_safe):
        self.count, self.lock = 0, threading.Lock() if is_safe else None
    def add(self):
        if self.lock is None:
            self.count += 1
            return
        with self.lock: self.count += 1

async def in_threads(is_safe):
    counter = Counter(is_safe)
    await asyncio.gather(asyncio.to_thread(counter.add), asyncio.to_thread(counter.add))
    assert counter.count == 2

async def in_thread_and_loop(is_safe):
    counter = Counter(is_safe)
    future = asyncio.get_running_loop().run_in_executor(None, counter.add)
    counter.add()
    await future
    assert counter.count == 2

async def in_pool(is_safe):
    counter, loop = Counter(is_safe), asyncio.get_running_loop()
    with ThreadPoolExecutor(2 - is_safe) as pool:
        counter = Counter(False)
        await asyncio.gather(*(loop.run_in_executor(pool, counter.add) for _ in range(2)))
    assert counter.count == 2

def from_outside(is_safe):
    seen, loop = [], asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    async def note(): seen.append(len(seen))
    try:
        future = asyncio.run_coroutine_threadsafe(note(), loop)
        if is_safe: future.result()
        assert seen == [0]
    finally:
        future.result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

async def unsafe_call():
    event = asyncio.Event()
    threading.Thread(target=event.set).start()
    await event.wait()

async def unsafe_future():
    future = asyncio.get_running_loop().create_future()
    threading.Thread(target=lambda: future.done() or future.set_result(1)).start()
    await future

async def unsafe_timer():
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    def work():
        loop.call_later(1, int)
        loop.call_soon_threadsafe(done.set)
    threading.Thread(target=work).start()
    await done.wait()
"""


ATTACKS = """
import asyncio
import concurrent.futures
import contextvars
import math
import threading
import time
from kcache import testing as kt

async def calls_soon():
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    thread = threading.Thread(target=loop.call_soon, args=(future.set_result, 1))
    thread.start()
    await future

async def sets_through_c():
    future = asyncio.get_running_loop().create_future()
    threading.Thread(target=lambda: list(map(future.set_result, [1]))).start()
    await future

async def sets_from_another_loop():
    event = asyncio.Event()
    async def other(): event.set()
    threading.Thread(target=asyncio.run, args=(other(),)).start()
    await event.wait()

async def an_executor_that_drops():
    class Drops(concurrent.futures.Executor):
        def submit(self, function, *arguments): return concurrent.futures.Future()
    await asyncio.get_running_loop().run_in_executor(Drops(), int)

async def two_loops():
    seen, loop = [], asyncio.get_running_loop()
    future = loop.create_future()
    async def other():
        loop.call_soon_threadsafe(seen.append, 1)
        loop.call_soon_threadsafe(future.set_result, 1)
    thread = threading.Thread(target=lambda: asyncio.run(other()))
    thread.start()
    loop.call_soon(seen.append, 2)
    await future
    thread.join()
    assert seen == [2, 1]

async def a_second_function_between():
    seen, loop = [], asyncio.get_running_loop()
    def twice():
        seen.append(1)
        seen.append(1)
    def once(): seen.append(2)
    loop.run_in_executor(None, twice).cancel()  # too late if it has begun
    await asyncio.sleep(0)
    await loop.run_in_executor(None, once)
    assert seen[:2] != [1, 2]

async def an_executor_that_runs_at_once():
    class AtOnce(concurrent.futures.Executor):
        def submit(self, function, *arguments):
            self.calls = getattr(self, "calls", 0) + 1
            future = concurrent.futures.Future()
            future.set_result(function(*arguments))
            return future
    executor = AtOnce()
    await asyncio.get_running_loop().run_in_executor(executor, int)
    assert executor.calls == 1

async def a_default_executor():
    asyncio.get_running_loop().set_default_executor(concurrent.futures.ThreadPoolExecutor(1))
    assert await asyncio.to_thread(int) == 0

async def shut_down():
    loop = asyncio.get_running_loop()
    await loop.shutdown_default_executor()
    try: await loop.run_in_executor(None, int)
    except RuntimeError: return
    assert False

async def an_end_that_is_no_exception():
    class Stop(BaseException): pass
    def stop(): raise Stop
    try: await asyncio.to_thread(stop)
    except Stop: return
    assert False

async def a_cancellation_of_threads():
    loop = asyncio.get_running_loop()
    async def cancels(): raise asyncio.CancelledError
    def work(): asyncio.run_coroutine_threadsafe(cancels(), loop).result()
    try: await asyncio.to_thread(work)
    except asyncio.CancelledError: return
    assert False

variable = contextvars.ContextVar("variable", default=0)

def a_context_for_each_thread():
    seen = []
    def work():
        seen.append(variable.get())
        variable.set(2)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [0]

async def an_endless_wait():
    task = asyncio.create_task(asyncio.sleep(math.inf))
    await kt.io()
    assert not task.done()
    task.cancel()

async def garbage_of_other_executions():
    class Job:
        def __init__(self, work): self.work, self.itself = work, self
    done = []
    async def work(number):
        await kt.io()
        done.append(number)
    first, last = Job(work(1)), Job(work(2))
    await asyncio.gather(first.work, kt.io())
    await last.work
    assert done == [1, 2]

async def a_set_of_coroutines():
    done = [await each for each in asyncio.as_completed([asyncio.sleep(2, "a"), asyncio.sleep(1, "b")])]
    assert sorted(done) == ["a", "b"]

async def a_short_sleep_and_a_long_timeout():
    await asyncio.wait_for(asyncio.to_thread(time.sleep, 0.1), 60)
"""


def outcome(folder: Path, call: str, source: str = SUPPORT, program: InterleavedProgram | None = None):
    file = folder / "explored_beside.py"
    is_async = f"async def {call.partition('(')[0]}(" in source
    body = f"async def test_it(): await {call}" if is_async else f"def test_it(): {call}"
    file.write_text(f"{source}\n{body}\n", encoding="utf-8")
    options = ExploreOptions(executions=20_000, seconds=60.0, whole_seconds=60.0)
    return explore(
        BodyExplorationTarget(f"{file}:test_it"), InterleavedProgram() if program is None else program, options
    )


@pytest.mark.parametrize("body", ["calls_soon", "sets_through_c", "sets_from_another_loop"])
def test_a_wake_up_that_may_be_lost_is_no_proof(body: str, tmp_path: Path) -> None:
    result = outcome(tmp_path, f"{body}()", ATTACKS)
    assert result.coverage is not Coverage.EXHAUSTED
    assert FROM_OTHER_THREAD in result.note


@pytest.mark.parametrize("body", ["an_executor_that_drops", "two_loops", "a_second_function_between"])
def test_what_fails_on_the_real_loop_is_found(body: str, tmp_path: Path) -> None:
    assert outcome(tmp_path, f"{body}()", ATTACKS).finding is not None


@pytest.mark.parametrize("body", ["two_loops", "a_second_function_between"])
def test_it_is_found_without_random_orders(body: str, tmp_path: Path) -> None:
    file = tmp_path / "reduced_beside.py"
    file.write_text(f"{ATTACKS}\nasync def test_it(): await {body}()\n", encoding="utf-8")
    with BodyExplorationTarget(f"{file}:test_it").open_runner(InterleavedProgram()) as (runner, judge):
        assert search(runner, Dpor(), judge, SearchLimits(3_000)).problem is not None


@pytest.mark.parametrize(
    "body",
    [
        *("an_executor_that_runs_at_once", "a_default_executor", "shut_down", "an_end_that_is_no_exception"),
        *("a_cancellation_of_threads", "a_context_for_each_thread", "an_endless_wait", "garbage_of_other_executions"),
    ],
)
def test_what_passes_on_the_real_loop_is_not_accused(body: str, tmp_path: Path) -> None:
    result = outcome(tmp_path, f"{body}()", ATTACKS)
    assert (result.finding, result.note) == (None, "")


@pytest.mark.parametrize(
    ("body", "program"),
    [
        ("a_set_of_coroutines", InterleavedProgram(cancellations=1)),
        ("a_short_sleep_and_a_long_timeout", InterleavedProgram(timeouts=Timeouts.PATIENT)),
    ],
)
def test_nor_is_it_with_cancellations_or_patience(body: str, program: InterleavedProgram, tmp_path: Path) -> None:
    assert outcome(tmp_path, f"{body}()", ATTACKS, program).finding is None


@pytest.mark.parametrize("body", ["in_threads", "in_thread_and_loop", "in_pool", "from_outside"])
def test_a_race_between_a_thread_and_a_loop_is_found(body: str, tmp_path: Path) -> None:
    assert outcome(tmp_path, f"{body}(False)").finding is not None


@pytest.mark.parametrize("body", ["in_threads", "in_thread_and_loop"])
def test_what_a_lock_protects_is_proved(body: str, tmp_path: Path) -> None:
    safe = outcome(tmp_path, f"{body}(True)")
    assert (safe.finding, safe.coverage, safe.no_proof) == (None, Coverage.EXHAUSTED, "")


@pytest.mark.parametrize("body", ["in_pool", "from_outside"])
def test_what_is_right_is_not_accused(body: str, tmp_path: Path) -> None:
    assert outcome(tmp_path, f"{body}(True)").finding is None


@pytest.mark.parametrize("body", ["unsafe_call", "unsafe_future", "unsafe_timer"])
def test_what_reaches_a_loop_unsafely_is_no_proof(body: str, tmp_path: Path) -> None:
    result = outcome(tmp_path, f"{body}()")
    assert result.coverage is not Coverage.EXHAUSTED
    if result.finding is None:
        assert FROM_OTHER_THREAD in result.note
    else:  # the loop may sleep on, because nothing wakes it
        assert result.finding.kind is FindingKind.DEADLOCK


UNSEEN = """
import asyncio
import threading

async def read_by_the_library(is_right):
    thread = threading.Thread(name="idle")
    def rename(): thread.name = "busy"
    _, told = await asyncio.gather(asyncio.to_thread(rename), asyncio.to_thread(lambda: "busy" in repr(thread)))
    assert told or is_right
"""


@pytest.mark.parametrize("is_right", [False, True])
def test_threads_beside_the_loop_of_an_async_test_are_audited(is_right: bool, tmp_path: Path) -> None:
    """That ``repr`` reads the name of a thread is not reported: only executions switched at opcodes show it."""
    result = outcome(tmp_path, f"read_by_the_library({is_right})", UNSEEN)
    assert (result.finding is None) is is_right
    assert not is_right or result.audited.executions > 0
