"""Random asyncio programs, as source: tasks that use locks, queues, events, timers, completions and cancellation."""

from __future__ import annotations

import random

_STEPS = (
    "await asyncio.sleep(0)",
    "await asyncio.sleep(DELAY)",
    "await io()",
    "async with s.lock: log('held'); await asyncio.sleep(0)",
    "async with s.lock: await io()",
    "s.queue.put_nowait(NUMBER)",
    "log(await s.queue.get())",
    "s.event.set()",
    "await s.event.wait()",
    "s.tasks[OTHER].cancel()",
    "log(await limited(s.queue.get(), DELAY))",
    "log(await limited(io(), DELAY))",
    "asyncio.get_running_loop().call_later(DELAY, log, 'late')",
    "asyncio.get_running_loop().call_soon(log, 'soon')",
    "async with s.semaphore: await asyncio.sleep(0)",
    "async with s.condition: s.condition.notify()",
    "async with s.condition: log(await limited(s.condition.wait(), DELAY))",
)

_WAITS = "done, pending = await asyncio.wait(s.tasks, timeout=9)"
_WAITS_BRIEFLY = """pending, done = [], asyncio.get_running_loop().create_future()
    for task in s.tasks:
        task.add_done_callback(lambda _: done.done() or all(each.done() for each in s.tasks) and done.set_result(1))
    await done"""

_AROUND = """
import asyncio
from types import SimpleNamespace

async def limited(awaitable, seconds):
    try:
        return await asyncio.wait_for(awaitable, seconds)
    except asyncio.TimeoutError:
        return "timeout"

async def program(io):
    s = SimpleNamespace(lock=asyncio.Lock(), queue=asyncio.Queue(), event=asyncio.Event(), tasks=[],
                        semaphore=asyncio.Semaphore(1), condition=asyncio.Condition())
    logged = []
    def logger(name):
        return lambda text: logged.append((name, text))
{tasks}
    s.tasks += [asyncio.ensure_future(work()) for work in ({names},)]
    {waits}
    ends = ["pending" if task in pending else "cancelled" if task.cancelled() else "done" for task in s.tasks]
    for task in pending:
        task.cancel()
    return repr((logged, ends, s.queue.qsize(), s.lock.locked()))  # now: callbacks may still log while the loop ends
"""


def program(seed: int, *, is_small: bool = False) -> str:
    """Return the source of a module with a coroutine function ``program``, which returns what came of it.

    Args:
        seed: of the choices.
        is_small: two tasks with one step each, and nothing that waits for both: for contracts with many orders.
    """
    choose = random.Random(seed)
    count = 2 if is_small else choose.choice((2, 2, 3))
    tasks = []
    for number in range(count):
        lines = [f"    async def work{number}():", f"        log = logger({number})"]
        for _ in range(1 if is_small else choose.randrange(1, 4 if count == 2 else 3)):
            step = choose.choice(_STEPS).replace("DELAY", str(choose.choice((0.001, 0.002, 1))))
            step = step.replace("NUMBER", str(number)).replace("OTHER", str(choose.randrange(count)))
            lines += [f"        {step}", "        log('on')"]
        tasks.append("\n".join(lines))
    names = ", ".join(f"work{number}" for number in range(count))
    return _AROUND.format(tasks="\n".join(tasks), names=names, waits=_WAITS_BRIEFLY if is_small else _WAITS)
