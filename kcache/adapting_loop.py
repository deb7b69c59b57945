"""Event loops of adapters: a thread of its own runs the async methods of an object, and their callers wait."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable
from typing import Any


class AdapterLoop:
    """An event loop in a daemon thread; it ends with the adapter that has it."""

    def __init__(self, importer: Callable[[str], Any]) -> None:
        self._asyncio = importer("asyncio")
        loop = self._asyncio.new_event_loop()
        self._is_virtual = hasattr(loop, "served")  # in the explorer, whose threads must not wait for real locks
        self._loop = loop.served() if self._is_virtual else loop
        threads = importer("threading")
        self._thread = threads.Thread(target=_run_loop, args=(self._loop, self._asyncio), daemon=True)
        self._thread.start()
        call, stop = self._loop.call_soon_threadsafe, self._loop.stop
        self._stop: Callable[[], object] = (
            functools.partial(call, stop) if self._is_virtual else weakref.finalize(self, call, stop)
        )

    def run(self, awaitable: Any) -> Any:
        """Run an awaitable in the loop, wait for it, and return its result."""
        if self._is_virtual:
            return self._run_virtually(awaitable)
        task = _awaited(awaitable)
        try:
            future = self._asyncio.run_coroutine_threadsafe(task, self._loop)
        except BaseException:  # the explorer refuses: neither coroutine will be awaited, so close both
            task.close()
            getattr(awaitable, "close", lambda: None)()
            raise
        return future.result()

    def _run_virtually(self, awaitable: Any) -> Any:
        completion, ended = self._loop.completion(lambda: "an async method"), []

        def begin() -> None:
            task = self._loop.create_task(_awaited(awaitable))
            task.add_done_callback(end)

        def end(task: Any) -> None:
            ended.append(task)
            completion.release()

        self._loop.call_soon_threadsafe(begin)
        completion.acquire()
        return ended[0].result()

    def close(self) -> None:
        """End the thread."""
        self._stop()
        self._thread.join(1.0)


def settled(result: Any, loops: dict[int, AdapterLoop], importer: Callable[[str], Any]) -> Any:
    """Return the result of a method; if it is awaitable, or iterates asynchronously, what comes of it in a loop.

    Args:
        result: what the method has returned.
        loops: 0 -> the loop of the adapter; empty until a loop is needed.
        importer: imports a module by its name.
    """
    if hasattr(type(result), "__aiter__"):
        result = collected(result)
    if not inspect.isawaitable(result):
        return result
    if not loops:  # two threads may be here at once: the second loop is closed again
        loop = AdapterLoop(importer)
        if loops.setdefault(0, loop) is not loop:
            loop.close()
    return loops[0].run(result)


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


async def collected(results: Any) -> list[Any]:
    """Return what an asynchronous iterable yields."""
    return [result async for result in results]


def _run_loop(loop: Any, asyncio: Any) -> None:
    try:
        loop.run_forever()
    finally:
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        if tasks:
            loop.run_until_complete(asyncio.wait(tasks))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
