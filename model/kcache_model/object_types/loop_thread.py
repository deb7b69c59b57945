"""Event loop in a thread of its own, which makes the calls of other threads.

The calls of one thread run in one task, one after another: locks and scopes of async libraries belong to tasks. The
object is only used in the loop, also by methods that are not async: these rely on nothing else running there meanwhile.

The modules come from ``load``, so that under the explorer the loop, its thread and the locks are virtual.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Coroutine
from typing import Any

from ..errors import UnwindError
from ..suspended import suspended_at
from .object_type import Load


def created_in_loop(factory: Callable[[], Any]) -> Any:
    """Return a new object, created while an event loop runs: its constructor may need the loop."""
    import asyncio  # most classes do not need it

    async def create() -> Any:
        return factory()

    return asyncio.run(create())


class CallCancelledError(UnwindError):
    """The environment has cancelled a call, and the call has ended with an exception."""


class _Call:
    """A call, and what came of it.

    Attributes:
        work: returns the coroutine of the call.
        completion: a lock that is released when the call has ended.
        value: its result.
        error: its exception.
        is_over: whether it has ended.
        is_cancelled: whether the environment has cancelled it.
        task: the task that makes it.
    """

    __slots__ = ("completion", "error", "is_cancelled", "is_over", "task", "value", "work")

    def __init__(self, work: Callable[[], Coroutine[Any, Any, object]], completion: Any) -> None:
        self.work = work
        self.completion = completion
        self.task: Any = None
        self.value: object = None
        self.error: BaseException | None = None
        self.is_over = self.is_cancelled = False

    def cancel(self) -> None:
        """Cancel the task of the call at its await, unless the call has ended."""
        if not self.is_over:
            self.is_cancelled = True
            self.task.cancel()


class LoopThread:
    """A thread that runs an event loop.

    Args:
        load: returns ``asyncio`` and ``threading``.
    """

    def __init__(self, load: Load) -> None:
        asyncio: Any = load("asyncio")
        self._threading: Any = load("threading")
        loop = asyncio.new_event_loop()
        self._loop = loop.served() if hasattr(loop, "served") else loop  # of the explorer
        self._tasks: dict[int, Any] = {}
        self._next: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._threading.Thread(target=_run, args=(self._loop, asyncio), daemon=True).start()
        if self._loop is loop:
            weakref.finalize(self, loop.call_soon_threadsafe, loop.stop)

    def call(self, thread: int, work: Callable[[], Coroutine[Any, Any, object]]) -> object:
        """Run a coroutine in the task of a thread, wait for it, and return its result; its exceptions pass through.

        Args:
            thread: the number of the calling thread.
            work: returns the coroutine; called in the loop.

        Raises:
            CallCancelledError: the environment has cancelled the call.
        """
        call = _Call(work, self._completion(thread))
        self._loop.call_soon_threadsafe(self._begin, thread, call)
        call.completion.acquire()
        if call.error is None:
            return call.value
        raise CallCancelledError if call.is_cancelled else call.error

    def _completion(self, thread: int) -> Any:
        if hasattr(self._loop, "completion"):
            return self._loop.completion(lambda: self._waits(thread))
        lock = self._threading.Lock()
        lock.acquire()
        return lock

    def _waits(self, thread: int) -> str:
        task = self._tasks.get(thread)
        return (task is not None and suspended_at(task.get_coro())) or "?"

    def _begin(self, thread: int, call: _Call) -> None:
        if thread in self._next:
            call.task = self._tasks[thread]
            self._next[thread].set_result(call)
        else:
            call.task = self._tasks[thread] = self._loop.create_task(self._serve(thread, call))
            call.task._log_destroy_pending = False  # it waits for further calls until the object is dropped
        if thread >= 0 and hasattr(self._loop, "may_cancel"):
            number = self._numbers[thread] = self._numbers.get(thread, -1) + 1
            call.task.lane = thread
            self._loop.may_cancel((thread, number), call)

    async def _serve(self, thread: int, call: _Call) -> None:
        while True:
            try:
                call.value = await call.work()
            except (UnwindError, GeneratorExit):
                raise
            except BaseException as error:
                call.error = error
            call.is_over = True
            call.completion.release()
            self._next[thread] = self._loop.create_future()
            call = await self._next[thread]


def _run(loop: Any, asyncio: Any) -> None:
    loop.run_forever()
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.call_soon(loop.stop)
    loop.run_forever()  # the tasks get their cancellation
    loop.close()
