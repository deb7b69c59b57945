"""Small asyncio programs for all testers, and the truth about each: whether it can fail on asyncio's own loop.

The programs use plain asyncio only, so each tester runs the same code. A program fails if an assertion fails or if it
waits for ever. These facts about CPython's loop decide the truth:

* Callbacks that are ready run first in, first out. An iteration runs those that were ready when it began.
* Before each iteration, the timers that are due become ready, in the order of their deadlines. Any number of timers can
  be due, because any callback before may have been slow.

``test_asyncio_testers.py`` compares the truth with asyncio's own loop and a clock that jumps.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

Work = Coroutine[Any, Any, None]


async def request() -> None:
    """Wait for 1 ms, as for a request."""
    await asyncio.sleep(0.001)


def after_1_ms(callback: Callable[[], object]) -> None:
    asyncio.get_running_loop().call_later(0.001, callback)


async def two_callbacks() -> None:
    order: list[int] = []
    loop = asyncio.get_running_loop()
    loop.call_soon(order.append, 1)
    loop.call_soon(order.append, 2)
    await request()
    assert order == [1, 2]


async def two_starts() -> None:
    order: list[int] = []

    async def start(number: int) -> None:
        order.append(number)

    await asyncio.gather(start(1), start(2))
    assert order == [1, 2]


async def three_steps() -> None:
    fired: list[bool] = []
    after_1_ms(lambda: fired.append(True))
    for _ in range(3):
        await asyncio.sleep(0)
    assert not fired


async def two_timers() -> None:
    order: list[int] = []
    asyncio.get_running_loop().call_later(0.002, order.append, 2)
    after_1_ms(lambda: order.append(1))
    await asyncio.sleep(0.003)
    assert order == [1, 2]


class OldCondition(asyncio.Condition):
    """Condition with the ``wait`` of CPython 3.11.7: a cancelled task keeps the notification that it received."""

    async def wait(self) -> Any:
        waiters: deque[asyncio.Future[bool]] = vars(self)["_waiters"]
        self.release()
        try:
            future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            waiters.append(future)
            try:
                await future
                return True
            finally:
                waiters.remove(future)
        finally:
            is_cancelled = False
            while True:
                try:
                    await self.acquire()
                    break
                except asyncio.CancelledError:
                    is_cancelled = True
            if is_cancelled:
                raise asyncio.CancelledError


async def two_takers(condition: asyncio.Condition) -> None:
    things: list[int] = []

    async def take() -> None:
        async with condition:
            await condition.wait_for(lambda: things)
            things.pop()

    async def put() -> None:
        await request()
        async with condition:
            things.append(1)
            condition.notify()

    first, second, putter = (asyncio.create_task(work) for work in (take(), take(), put()))
    await asyncio.sleep(0)
    after_1_ms(first.cancel)
    await asyncio.wait([first, putter])
    if not first.cancelled():
        await put()
    await second


class QueuedLock:
    """Lock with a queue.

    Args:
        passes_on: a task that is cancelled after it was woken wakes the next one.
        ignores_cancelled: the lock is free although cancelled tasks are still in its queue.
    """

    def __init__(self, *, passes_on: bool = True, ignores_cancelled: bool = True) -> None:
        self.is_held, self.waiters = False, deque[asyncio.Future[None]]()
        self.passes_on, self.ignores_cancelled = passes_on, ignores_cancelled

    async def use(self) -> None:
        """Hold the lock during a request."""
        if not self.is_held and all(self.ignores_cancelled and waiter.cancelled() for waiter in self.waiters):
            self.is_held = True
        else:
            await self.wait()
        try:
            await request()
        finally:
            self.release()

    async def wait(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if self.passes_on and not waiter.cancelled():
                self.release()
            raise
        finally:
            self.waiters.remove(waiter)

    def release(self) -> None:
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None)
                return
        self.is_held = False


async def newcomer(lock: QueuedLock) -> None:
    async def cancel() -> None:
        await request()
        await asyncio.sleep(0)
        tasks[2].cancel()

    async def come() -> None:
        await request()
        await lock.use()

    tasks = [asyncio.create_task(work) for work in (cancel(), lock.use(), lock.use(), come())]
    await asyncio.wait(tasks)


async def three_users(lock: QueuedLock) -> None:
    users = [asyncio.create_task(lock.use()) for _ in range(3)]
    await asyncio.sleep(0)
    after_1_ms(users[1].cancel)
    await asyncio.wait(users)


async def two_buyers(lock: contextlib.AbstractAsyncContextManager[Any]) -> None:
    stock = 1

    async def buy() -> None:
        nonlocal stock
        async with lock:
            if stock:
                await request()
                stock -= 1

    await asyncio.gather(buy(), buy())
    assert stock == 0


async def cancel_once(work: Work) -> None:
    """Cancel a task: if ``cancel()`` returns True, the task must end as cancelled."""
    results: list[bool] = []
    task = asyncio.create_task(work)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    after_1_ms(lambda: results.append(task.cancel()))
    await asyncio.wait([task])
    assert task.cancelled() or not any(results)


async def old_wait_for(awaitable: Awaitable[None], seconds: float) -> None:
    """Wait as CPython 3.11.7 does: if the result is there, a cancellation is forgotten."""
    inner = asyncio.ensure_future(awaitable)
    try:
        await asyncio.wait([inner], timeout=seconds)
    except asyncio.CancelledError:
        if not inner.cancel():
            return
        raise
    if inner.cancel():
        raise TimeoutError


async def wait_and_go_on(wait_for: Callable[[Awaitable[None], float], Awaitable[None]]) -> None:
    with contextlib.suppress(TimeoutError):
        await wait_for(request(), 5)
    await request()


class OldGroup:
    """Task group that forgets a cancellation from outside if a task fails at the same time."""

    async def __aenter__(self) -> OldGroup:
        self.tasks: list[asyncio.Task[None]] = []
        return self

    def create_task(self, work: Work) -> None:
        self.tasks.append(asyncio.create_task(work))

    async def __aexit__(self, *_: object) -> None:
        try:
            await asyncio.wait(self.tasks)
        except asyncio.CancelledError:
            for task in self.tasks:
                task.cancel()
            await asyncio.wait(self.tasks)
            if all(task.cancelled() for task in self.tasks):
                raise
        if any(not task.cancelled() and task.exception() for task in self.tasks):
            raise ExceptionGroup("a task failed", [ValueError()])


async def fail_and_go_on(group_type: Callable[[], Any]) -> None:
    async def fail() -> None:
        await request()
        raise ValueError

    with contextlib.suppress(ExceptionGroup):
        async with group_type() as group:
            group.create_task(fail())
    await request()


class LosingQueue:
    """Queue that hands an item to the task that it wakes: if this task is cancelled, the item is lost."""

    def __init__(self) -> None:
        self.items, self.getters = deque[str](), deque[asyncio.Future[str]]()

    def put_nowait(self, item: str) -> None:
        for getter in self.getters:
            if not getter.done():
                getter.set_result(item)
                return
        self.items.append(item)

    async def get(self) -> str:
        if self.items:
            return self.items.popleft()
        getter: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.getters.append(getter)
        try:
            return await getter
        finally:
            self.getters.remove(getter)


async def one_item(queue: LosingQueue | asyncio.Queue[str]) -> None:
    async def put() -> None:
        await request()
        queue.put_nowait("item")

    putter, getter = asyncio.create_task(put()), asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    after_1_ms(getter.cancel)
    await asyncio.wait([putter, getter])
    if getter.cancelled():
        await queue.get()


async def two_locks(*, in_one_order: bool) -> None:
    one, two = asyncio.Lock(), asyncio.Lock()

    async def use(first: asyncio.Lock, second: asyncio.Lock) -> None:
        async with first:
            await request()
            async with second:
                await request()

    await asyncio.gather(use(one, two), use(one, two) if in_one_order else use(two, one))


async def three_tasks() -> None:
    lock, inside = asyncio.Lock(), 0

    async def use() -> None:
        nonlocal inside
        for _ in range(2):
            await request()
            async with lock:
                inside += 1
                assert inside == 1
                await request()
                inside -= 1

    await asyncio.gather(use(), use(), use())


def body_of(start: Callable[[], Work]) -> Callable[[], Work]:
    """Return an async function: kcache would take a lambda for a test without an event loop."""

    async def body() -> None:
        await start()

    return body


notify_lost = body_of(lambda: two_takers(OldCondition()))
notify_kept = body_of(lambda: two_takers(asyncio.Condition()))
newcomer_waits = body_of(lambda: newcomer(QueuedLock(ignores_cancelled=False)))
newcomer_enters = body_of(lambda: newcomer(QueuedLock()))
sold_twice = body_of(lambda: two_buyers(contextlib.nullcontext()))
sold_once = body_of(lambda: two_buyers(asyncio.Lock()))
permit_lost = body_of(lambda: three_users(QueuedLock(passes_on=False)))
permit_kept = body_of(lambda: three_users(QueuedLock()))
wait_for_swallows = body_of(lambda: cancel_once(wait_and_go_on(old_wait_for)))
wait_for_raises = body_of(lambda: cancel_once(wait_and_go_on(asyncio.wait_for)))
group_swallows = body_of(lambda: cancel_once(fail_and_go_on(OldGroup)))
group_raises = body_of(lambda: cancel_once(fail_and_go_on(asyncio.TaskGroup)))
item_lost = body_of(lambda: one_item(LosingQueue()))
item_kept = body_of(lambda: one_item(asyncio.Queue()))
two_orders = body_of(lambda: two_locks(in_one_order=False))
one_order = body_of(lambda: two_locks(in_one_order=True))

TRUTHS = {
    "two_callbacks": ("two `call_soon` in a row", False, "Ready callbacks run first in, first out."),
    "two_starts": ("two tasks start", False, "The first step of a task is a ready callback."),
    "three_steps": ("timer of 1 ms, three `sleep(0)`", True, "One step of 1 ms makes the timer due."),
    "two_timers": ("timers of 2 ms and 1 ms", False, "Timers run in the order of their deadlines."),
    "notify_lost": ("`Condition` of 3.11 (gh-112202)", True, "The cancelled task keeps the notification."),
    "notify_kept": ("`asyncio.Condition`", False, "The cancelled task passes it on."),
    "newcomer_waits": (
        "cancelled waiter (idea of anyio#1145)",
        True,
        "A newcomer waits behind it for ever.",
    ),
    "newcomer_enters": ("the same, mended", False, "A queue of cancelled tasks counts as empty."),
    "sold_twice": ("check, await, act", True, "Both tasks check before the first one acts."),
    "sold_once": ("the same with a lock", False, "The lock is held from the check to the act."),
    "permit_lost": ("semaphore, waiter is cancelled", True, "The cancelled task keeps the permit."),
    "permit_kept": ("the same, mended", False, "The cancelled task passes the permit on."),
    "wait_for_swallows": ("`wait_for` as in 3.11 (gh-86296)", True, "The cancellation comes when the result is there."),
    "wait_for_raises": ("`asyncio.wait_for`", False, "A cancellation is raised at the await."),
    "group_swallows": ("task group (idea of gh-116720)", True, "The failure of a task replaces the cancellation."),
    "group_raises": ("`asyncio.TaskGroup`", False, "After a failure, the group cancels its task again."),
    "item_lost": ("queue, `get()` is cancelled", True, "The cancelled task keeps the item."),
    "item_kept": ("`asyncio.Queue`", False, "The item stays in the queue until it is taken."),
    "two_orders": ("two locks in two orders", True, "Each task holds the lock that the other one needs."),
    "one_order": ("two locks in one order", False, "A task with the second lock waits for nothing."),
    "three_tasks": ("three tasks and a lock", False, "The lock lets one task in at a time."),
}
"""Attribute of this module -> title, whether some schedule of asyncio's loop makes the program fail, and the reason."""
