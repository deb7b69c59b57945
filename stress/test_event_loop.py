"""Async tests: each schedule that asyncio's loop can have, and none that it cannot have."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kcache_model.interleaved_program import InterleavedProgram, Timeouts
from kcache_stress.engine.dpor import Dpor
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.target.explore import ExploreOptions, explore
from kcache_stress.target.investigation import investigate
from stress.material.async_sources import LIMITER

SUPPORT = (
    LIMITER
    + """
from kcache import testing as kt

class Pool:
    def __init__(self, idle):
        self.idle = idle
    async def take(self):
        if self.idle:
            await asyncio.sleep(0)
            self.idle -= 1

async def limited(hands_on):
    limiter = Limiter(1, hands_on)
    async def use():
        await limiter.acquire()
        try:
            await kt.io()
        finally:
            limiter.release()
    tasks = [asyncio.ensure_future(use()) for _ in range(2)]
    async def cancel():
        await kt.io()
        tasks[1].cancel()
    await asyncio.gather(asyncio.ensure_future(cancel()), *tasks, return_exceptions=True)
    assert limiter.free == 1, "a place is lost"

async def counted(lock):
    total = 0
    async def add():
        nonlocal total
        async with lock:
            before = total
            await asyncio.sleep(0)
            total = before + 1
    await asyncio.gather(add(), add(), add())
    assert total == 3

class NoLock:
    async def __aenter__(self): return self
    async def __aexit__(self, *error): return None
"""
)

RIGHT = {
    "callbacks run in their order": """
    seen, loop = [], asyncio.get_running_loop()
    loop.call_soon(seen.append, 1)
    loop.call_soon(seen.append, 2)
    await asyncio.sleep(0)
    assert seen == [1, 2]
""",
    "tasks start in their order": """
    seen = []
    async def note(number): seen.append(number)
    await asyncio.gather(note(1), note(2))
    assert seen == [1, 2]
""",
    "timers fire by their deadlines": """
    seen, loop = [], asyncio.get_running_loop()
    loop.call_later(0.002, seen.append, 2)
    loop.call_later(0.001, seen.append, 1)
    await asyncio.sleep(0.003)
    assert seen == [1, 2]
""",
    "a timer that is cancelled does not fire": """
    seen = []
    asyncio.get_running_loop().call_later(0.001, seen.append, 1).cancel()
    await asyncio.sleep(0.002)
    assert not seen
""",
    "a deadline that the clock shows exactly": """
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    loop.call_at(loop.time(), done.set_result, None)
    await done
""",
    "a lock": "    await counted(asyncio.Lock())\n",
    "a limiter that hands on": "    await limited(True)\n",
    "a queue": """
    queue, got = asyncio.Queue(1), []
    async def put():
        for number in range(3): await queue.put(number)
    async def get():
        for _ in range(3): got.append(await queue.get())
    await asyncio.gather(put(), get())
    assert got == [0, 1, 2]
""",
    "a wait with a timeout, either way": """
    try:
        result = await asyncio.wait_for(kt.io("done"), 5)
    except asyncio.TimeoutError:
        result = "late"
    assert result in ("done", "late")
""",
    "a long wait while callbacks are ready": """
    async def busy():
        for _ in range(3): await asyncio.sleep(0)
        return "done"
    assert await asyncio.wait_for(busy(), 0.05) == "done"
""",
    "long waits end by their deadlines": """
    seen = []
    async def note(seconds):
        await asyncio.sleep(seconds)
        seen.append(seconds)
    await asyncio.gather(note(0.2), note(0.001), note(0.1))
    assert seen == [0.001, 0.1, 0.2]
""",
    "a test that sets the time itself": """
    loop, now, seen = asyncio.get_running_loop(), 7.0, []
    loop.time = lambda: now
    loop.call_at(8.0, seen.append, 1)
    for _ in range(3): await asyncio.sleep(0)
    assert not seen
    now = 8.0
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert seen
""",
    "a task that is left is cancelled": """
    async def forever():
        await asyncio.get_running_loop().create_future()
    asyncio.ensure_future(forever())
    await kt.io()
""",
}

WRONG = {
    "a timer before three iterations": """
    seen = []
    asyncio.get_running_loop().call_later(0.001, seen.append, 1)
    for _ in range(3): await asyncio.sleep(0)
    assert not seen
""",
    "a wait of less than 50 ms while callbacks are ready": """
    async def busy():
        for _ in range(3): await asyncio.sleep(0)
        return "done"
    assert await asyncio.wait_for(busy(), 0.049) == "done"
""",
    "no timer within three iterations": """
    seen = []
    asyncio.get_running_loop().call_later(0.001, seen.append, 1)
    for _ in range(3): await asyncio.sleep(0)
    assert seen
""",
    "checked, then awaited": """
    pool = Pool(1)
    await asyncio.gather(pool.take(), pool.take())
    assert pool.idle == 0
""",
    "no lock": "    await counted(NoLock())\n",
    "a limiter that loses a place": "    await limited(False)\n",
    "input in either order": """
    seen = []
    async def note(number):
        await kt.io()
        seen.append(number)
    await asyncio.gather(note(1), note(2))
    assert seen == [1, 2]
""",
    "a timeout comes first": """
    assert await asyncio.wait_for(kt.io("done"), 5) == "done"
""",
    "a future without a result": """
    await asyncio.get_running_loop().create_future()
""",
    "two locks": """
    one, other = asyncio.Lock(), asyncio.Lock()
    async def both(first, second):
        async with first:
            await asyncio.sleep(0)
            async with second: pass
    await asyncio.gather(both(one, other), both(other, one))
""",
}


def explored(folder: Path, body: str, timeouts: Timeouts = Timeouts.PATIENT, most: int = 5_000):
    file = folder / "explored_loop.py"
    file.write_text(f"{SUPPORT}\nasync def test_it():\n{body}", encoding="utf-8")
    target = BodyExplorationTarget(f"{file}:test_it")
    program = InterleavedProgram(timeouts=timeouts)
    return investigate(lambda _: target.open_runner(program), lambda _: [(Dpor(), most)], seconds=60.0)


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_under_every_schedule_is_proved(name: str, tmp_path: Path) -> None:
    result = explored(tmp_path, RIGHT[name])
    assert (result.problem, result.coverage.value, result.note) == (None, "exhausted", "")


@pytest.mark.parametrize("name", WRONG)
def test_what_some_schedule_breaks_is_found(name: str, tmp_path: Path) -> None:
    result = explored(tmp_path, WRONG[name])
    assert result.problem is not None
    assert result.counterexample is not None


def test_a_standstill_says_where_each_task_waits(tmp_path: Path) -> None:
    problem = explored(tmp_path, WRONG["two locks"]).problem
    assert problem is not None
    assert problem.summary.count("awaits at explored_loop.py:") >= 2


def test_the_condition_that_loses_a_notification_is_found(tmp_path: Path) -> None:
    """gh-112202: a notification was lost if its waiter was cancelled after it was woken; mended in 3.12.2 and 3.13."""
    body = """
    condition, woken = asyncio.Condition(), []
    async def wait(number):
        async with condition:
            await condition.wait()
            woken.append(number)
    tasks = [asyncio.ensure_future(wait(number)) for number in range(2)]
    for _ in range(4): await asyncio.sleep(0)
    async def notify():
        await kt.io()
        async with condition: condition.notify(1)
    async def cancel():
        await kt.io()
        tasks[0].cancel()
    await asyncio.gather(notify(), cancel())
    for _ in range(4): await asyncio.sleep(0)
    notified = bool(woken)
    for task in tasks: task.cancel()
    await asyncio.wait(tasks)
    assert notified, "the notification is lost"
"""
    result = explored(tmp_path, body)
    if sys.version_info >= (3, 12, 2):
        assert (result.problem, result.coverage.value) == (None, "exhausted")
    else:
        assert result.problem is not None


def test_long_waits_end_at_any_iteration_if_timeouts_may_come_any_time(tmp_path: Path) -> None:
    result = explored(tmp_path, RIGHT["a long wait while callbacks are ready"], Timeouts.ANY_TIME)
    assert result.problem is not None
    assert explored(tmp_path, RIGHT["long waits end by their deadlines"], Timeouts.ANY_TIME).problem is None


def test_a_long_wait_does_not_end_before_a_function_in_an_executor_that_can_go_on(tmp_path: Path) -> None:
    wait = "    await asyncio.wait_for(asyncio.get_running_loop().run_in_executor(None, abs, 1), 0.1)\n"
    assert explored(tmp_path, wait).problem is None
    assert explored(tmp_path, wait, Timeouts.ANY_TIME).problem is not None
    polled = """
    future = asyncio.get_running_loop().run_in_executor(None, abs, 1)
    while not future.done(): await asyncio.sleep(0.001)
"""
    assert explored(tmp_path, polled, most=100).problem is None


def test_loops_in_several_threads_run_beside_each_other(tmp_path: Path) -> None:
    body = """
    import threading
    seen, errors = [], []
    async def note(): await asyncio.sleep(0); seen.append(asyncio.get_running_loop())
    def run():
        loop = asyncio.new_event_loop()
        try: loop.run_until_complete(note())
        except BaseException as error: errors.append(error); raise
        finally: loop.close()
    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert not errors and len(set(seen)) == 2
"""
    file = tmp_path / "threads_with_loops.py"
    file.write_text(f"{SUPPORT}\ndef test_it():\n{body}", encoding="utf-8")
    result = explore(BodyExplorationTarget(f"{file}:test_it"), InterleavedProgram(), ExploreOptions(executions=100))
    assert result.finding is None
    assert not result.refused
