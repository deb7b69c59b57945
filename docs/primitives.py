"""Primitives of asyncio, a few tasks each and one cancellation: ``python docs/primitives.py`` proves them, or does not.

The page ``asyncio-primitives.md`` has a column for each Python that ran this file. The bodies are async tests like
those of a user; ``kcache explore docs/primitives.py:lock --cancel 1`` shows the report of one.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from kcache import testing as kt

PAGE = Path(__file__).parent / "asyncio-primitives.md"


async def _held_by_one(held: Any, is_free: Callable[[], bool]) -> None:
    """Check that one task at a time is in the block, and that it is free in the end."""
    inside = 0

    async def use() -> None:
        nonlocal inside
        async with held:
            inside += 1
            assert inside == 1
            try:
                await kt.io()
            finally:
                inside -= 1

    results = await asyncio.gather(use(), use(), use(), return_exceptions=True)
    assert not any(isinstance(result, AssertionError) for result in results)
    assert is_free()


async def lock() -> None:
    held = asyncio.Lock()
    await _held_by_one(held, lambda: not held.locked())


async def semaphore() -> None:
    held = asyncio.Semaphore(1)
    await _held_by_one(held, lambda: not held.locked())


async def bounded_semaphore() -> None:
    held = asyncio.BoundedSemaphore(1)
    await _held_by_one(held, lambda: not held.locked())


async def event() -> None:
    happened = asyncio.Event()
    waiters = [asyncio.ensure_future(happened.wait()) for _ in range(3)]
    await kt.io()
    happened.set()
    await asyncio.gather(*waiters, return_exceptions=True)
    assert all(waiter.done() for waiter in waiters)


async def condition() -> None:
    ready, things = asyncio.Condition(), list[int]()

    async def take() -> None:
        async with ready:
            await ready.wait_for(lambda: things)
            things.pop()

    takers = [asyncio.ensure_future(take()) for _ in range(3)]
    for _ in range(4):
        await asyncio.sleep(0)
    await kt.io()
    async with ready:
        things.append(1)
        ready.notify(1)
    for _ in range(6):
        await asyncio.sleep(0)
    is_lost = bool(things) and not all(taker.done() for taker in takers)
    for taker in takers:
        taker.cancel()
    await asyncio.wait(takers)
    assert not is_lost, "a notification is lost, and a task waits although there is a thing"


async def barrier() -> None:
    meeting = asyncio.Barrier(2)

    async def come() -> None:
        with contextlib.suppress(asyncio.BrokenBarrierError):
            await meeting.wait()

    comers = [asyncio.ensure_future(come()) for _ in range(3)]
    await kt.io()
    await meeting.abort()
    await asyncio.gather(*comers, return_exceptions=True)
    assert meeting.n_waiting == 0


async def _nothing_is_lost(things: asyncio.Queue[int]) -> None:
    """Check that each thing that was put is taken or still there."""
    put, taken = 0, list[int]()

    async def produce() -> None:
        nonlocal put
        for number in range(2):
            await things.put(number)
            put += 1

    async def consume() -> None:
        taken.append(await things.get())

    tasks = [asyncio.ensure_future(task) for task in (produce(), consume(), consume())]
    await asyncio.wait(tasks, timeout=60)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    assert len(taken) + things.qsize() == put


async def queue() -> None:
    await _nothing_is_lost(asyncio.Queue(1))


async def priority_queue() -> None:
    await _nothing_is_lost(asyncio.PriorityQueue(1))


async def task_group() -> None:
    running = 0

    async def child() -> None:
        nonlocal running
        running += 1
        try:
            await kt.io()
        finally:
            running -= 1

    async def parent() -> int:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(child())
                group.create_task(child())
        finally:
            left = running
        return left

    (left,) = await asyncio.gather(parent(), return_exceptions=True)
    assert left == 0 or isinstance(left, asyncio.CancelledError)
    assert running == 0, "the group ended before its tasks"


async def _not_swallowed(waits: Callable[[], Awaitable[Any]]) -> None:
    """Check that a cancellation that was asked for is not swallowed."""
    asked = []

    async def work() -> None:
        with contextlib.suppress(TimeoutError):
            await waits()
        await kt.io()

    task = asyncio.ensure_future(work())

    async def cancel() -> None:
        await kt.io()
        if not task.done():
            asked.append(task.cancel())

    await asyncio.gather(task, cancel(), return_exceptions=True)
    assert task.cancelled() or not any(asked), "cancel() returned True, and the task went on"


async def wait_for() -> None:
    await _not_swallowed(lambda: asyncio.wait_for(kt.io(), 5))


async def timeout() -> None:
    async def limited() -> None:
        async with asyncio.timeout(5):
            await kt.io()

    await _not_swallowed(limited)


NAMES = {
    "lock": "Lock",
    "event": "Event",
    "condition": "Condition",
    "semaphore": "Semaphore",
    "bounded_semaphore": "BoundedSemaphore",
    "barrier": "Barrier",
    "queue": "Queue",
    "priority_queue": "PriorityQueue",
    "task_group": "TaskGroup",
    "timeout": "timeout",
    "wait_for": "wait_for",
}
HEADER = """# The primitives of asyncio, proved or not

Each body has two or three tasks besides its own. The explorer runs all schedules of its event loop, with one
cancellation (`--cancel 1`) at each await of each task that the body can do without. The bodies are in
[primitives.py](primitives.py); `kcache explore docs/primitives.py:lock --cancel 1` shows one, and `python
docs/primitives.py` writes the column of the Python that runs it.

`proved (204)` means that all schedules were run, in 204 executions, and none fails. Where one fails, the cell says what
went wrong.

"""


def verdict_of(name: str) -> str:
    """Return what the explorer says of a body."""
    from kcache_model.interleaved_program import InterleavedProgram
    from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
    from kcache_stress.target.explore import ExploreOptions, explore

    target = BodyExplorationTarget(f"{Path(__file__).resolve()}:{name}")
    explored = explore(
        target,
        InterleavedProgram(cancellations=1),
        ExploreOptions(strategy="dpor", executions=100_000, seconds=60.0, whole_seconds=60.0),
    )
    if explored.finding is not None:
        return f"**fails**: {explored.finding.summary.partition(f' ({Path(__file__).name}')[0].rpartition(': ')[2]}"
    if explored.is_exhausted:
        return f"proved ({explored.executions:,})"
    return f"not all: {explored.refused or explored.no_proof or f'{explored.executions:,} executions'}"


def read_page() -> dict[str, dict[str, str]]:
    """Return Python -> primitive -> verdict, as the page has it."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    pythons = rows[0][1:]
    return {python: {row[0].strip("`"): row[at] for row in rows[2:]} for at, python in enumerate(pythons, 1)}


def page_of(columns: dict[str, dict[str, str]]) -> str:
    """Return the page with a column for each Python."""
    pythons = sorted(columns, key=lambda text: tuple(map(int, text.split()[-1].split("."))))
    lines = [["primitive", *pythons], ["---"] * (len(pythons) + 1)]
    lines += [[f"`{shown}`", *(columns[python].get(shown, "") for python in pythons)] for shown in NAMES.values()]
    return HEADER + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def main() -> None:
    """Run all bodies, and write the column of this Python."""
    began = time.process_time()
    verdicts = {}
    for name, shown in NAMES.items():
        verdicts[shown] = verdict_of(name)
        print(f"{shown:18} {verdicts[shown]}", flush=True)
    columns = read_page() if PAGE.exists() else {}
    columns[f"CPython {sys.version.split()[0]}"] = verdicts
    PAGE.write_text(page_of(columns), encoding="utf-8")
    print(f"{time.process_time() - began:.0f} s of processor time")


if __name__ == "__main__":
    main()
