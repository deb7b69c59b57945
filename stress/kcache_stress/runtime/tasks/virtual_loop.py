"""Event loops of virtual threads: the loop of asyncio with another clock, and another way to wait."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
import weakref
from asyncio import events
from collections.abc import Callable, Iterator
from types import BuiltinMethodType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from kcache_model.outcomes import error_text
from kcache_model.places import file_name
from kcache_model.suspended import suspended_at

from ...engine.events import SPAWN, WRITE
from ..threads.virtual_thread import Aborted
from .unsupported import UnsupportedCalls

if TYPE_CHECKING:
    from .loops import EventLoops

IN_C: Final = "runs in an executor, and is in C: its step is not seen"
UNUSED: Final = "a loop that never ran is closed beside other threads: what they see of that is not tried"
IN_EXECUTOR: Final = "runs a function in an executor: what asyncio shares with it is not seen"


class _Job:
    """Function in an executor; it is not run if its future is cancelled before it begins."""

    is_cancelled = started = False


class _Selector:
    """Stand-in for the selector: its only call waits as the loop does."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[events.Handle]:
        return self._loop.begin_iteration(timeout)


class Future(asyncio.Future[Any]):
    """Future of a loop. Its hash is a number, so that sets of futures have the same order in each execution."""

    def __init__(self, *, loop: VirtualLoop) -> None:
        self._number = loop.next_number()
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self._number


class Task(asyncio.Task[Any]):
    """Task of a loop; its hash is a number, like that of a :class:`Future`.

    Attributes:
        lane: number of the thread in whose lane reports show the task; ``None`` for a lane of its own.
    """

    def __init__(self, coro: Any, *, loop: VirtualLoop, **named: Any) -> None:
        self._number = loop.next_number()
        self.lane: int | None = None
        super().__init__(coro, loop=loop, **named)

    def __hash__(self) -> int:
        return self._number


class VirtualLoop(UnsupportedCalls, asyncio.BaseEventLoop):
    """Loop of one virtual thread, the one that runs it.

    Args:
        loops: the loops of the execution.

    Attributes:
        is_over: whether the loop has ended.
        is_served: whether the loop serves calls of other threads.
    """

    is_served = False

    def __init__(self, loops: EventLoops) -> None:
        super().__init__()
        self.is_over = False
        self._loops = loops
        self._scheduler = loops.scheduler
        self._thread = loops.scheduler.current
        self._numbers = 0  # of futures and tasks
        self._known_tasks: list[weakref.ref[Task]] = []
        self._functions: set[int] = set()  # numbers of the actors that run functions in executors
        self._last_function: asyncio.Future[None] | None = None  # done when the last one of them has ended
        self._own_executor: Any = None
        self._is_shut_down = False  # the default executor
        self._selector = _Selector(self)
        self.set_exception_handler(lambda *_: None)  # otherwise asyncio prints errors of tasks that no code awaits

    def __del__(self) -> None:
        """Do nothing, unlike the base class: executions that are given up leave their loops open."""

    def begin_iteration(self, timeout: float | None) -> list[events.Handle]:
        """Begin an iteration of the loop.

        Args:
            timeout: the seconds until the next timer; 0 if callbacks are ready, ``None`` if there is no timer either.

        Returns:
            The callbacks that have arrived.
        """
        raise NotImplementedError

    def run_forever(self) -> None:
        """Run until :meth:`stop` is called."""
        if self._scheduler.aborting:  # the code that runs it again is only cleaning up
            raise Aborted
        self._check_running()
        self._thread = self._scheduler.current
        self._loops.enter(self)
        try:
            super().run_forever()
        except Aborted:
            self._close_coroutines()
            raise
        finally:
            self._loops.leave(self)

    def _check_running(self) -> None:
        """Raise an error if a loop runs in this thread; asyncio asks for the loop that runs in the real thread."""
        if self.is_running():
            raise RuntimeError("This event loop is already running")
        if self._loops.running not in (None, self):
            raise RuntimeError("Cannot run the event loop while another loop is running")

    def _asyncgen_finalizer_hook(self, agen: Any) -> None:
        """Close an asynchronous generator that dies, unless the execution has been aborted: then no code runs."""
        if self._scheduler.live and not self._scheduler.aborting:
            super()._asyncgen_finalizer_hook(agen)  # type: ignore[misc]

    @property
    def has_run(self) -> bool:
        """Whether the loop has begun an iteration."""
        return True

    def next_number(self) -> int:
        """Return the number of a new future or task."""
        self._numbers += 1
        return self._numbers

    def create_future(self) -> asyncio.Future[Any]:
        """Return a future of this loop."""
        return Future(loop=self)

    def create_task(self, coro: Any, **named: Any) -> asyncio.Task[Any]:
        """Create a task."""
        if self.get_task_factory() is not None:
            return super().create_task(coro, **named)
        self._check_closed()  # type: ignore[attr-defined]
        task = Task(coro, loop=self, **named)
        self._known_tasks.append(weakref.ref(task))
        if not self.is_running():
            task.lane = self._scheduler.current  # the work for which the thread runs the loop
        return task

    def close(self) -> None:
        """Close the loop, and the coroutines that were not finished: a later collection would run code of them."""
        if self._scheduler.live and self._loops.has_company and not self.has_run:
            self._scheduler.proof_obstacles[UNUSED] = None
        self._close_coroutines()
        super().close()
        self.is_over = True
        self._loops.closed(self)

    def _close_coroutines(self) -> None:
        for task in asyncio.all_tasks(self):
            setattr(task, "_log_destroy_pending", False)  # noqa: B010 (typeshed does not know it)
            with contextlib.suppress(BaseException):
                task.get_coro().close()
            asyncio.tasks._unregister_task(task)  # finalizers must not wait for it

    def time(self) -> float:
        """Return the virtual time."""
        return self._scheduler.now

    def set_debug(self, enabled: bool) -> None:
        """Leave the debug mode off: it looks for slow callbacks, and the time here is virtual."""
        del enabled
        super().set_debug(False)

    def _process_events(self, event_list: list[events.Handle]) -> None:
        for handle in event_list:
            self._add_callback(handle)  # type: ignore[attr-defined]

    def _write_to_self(self) -> None:
        """Wake the loop up: not needed, as its selector looks at the arrivals."""

    def waits(self) -> Iterator[str]:
        """Yield for each task that has not ended where it waits, and for each that has failed its error."""
        for task in sorted(asyncio.all_tasks(self), key=lambda task: task.get_name()):
            place = suspended_at(task.get_coro())
            if place:
                yield f"{_work_of(task)} awaits at {place}"
        for task in filter(None, (each() for each in self._known_tasks)):
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                yield f"{_work_of(task)} ended with {error_text(error)}"

    def set_default_executor(self, executor: Any) -> None:
        """Set the executor of functions that name none.

        Raises:
            TypeError: it is no executor.
        """
        if not callable(getattr(executor, "submit", None)):
            raise TypeError("executor must be ThreadPoolExecutor instance")
        self._own_executor = executor

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """Run a function in a virtual thread: in one of the executor's, or in a new one.

        Raises:
            RuntimeError: the loop is closed, or its executor is shut down.
        """
        self._check_closed()  # type: ignore[attr-defined]
        executor = executor or self._own_executor
        if executor is None and self._is_shut_down:
            raise RuntimeError("Executor shutdown has been called")
        if executor is not None and not isinstance(executor, concurrent.futures.Executor):
            # Those of real threads are left out: a function in them could not be scheduled.
            wrapped: asyncio.Future[Any] = self._loops.bridge("wrap_future")(executor.submit(func, *args), loop=self)
            return wrapped
        return self._start_function(func, args)

    def _start_function(self, func: Callable[..., Any], args: tuple[Any, ...]) -> asyncio.Future[Any]:
        future, job = self.create_future(), _Job()

        def look(_: object) -> None:
            if future.cancelled():
                self._scheduler.point(WRITE, job, None)
                job.is_cancelled = True

        def work() -> None:
            self._scheduler.point(WRITE, job, None)
            result, error = None, None
            if not job.is_cancelled:
                try:
                    result = func(*args)
                except Aborted:
                    raise
                except BaseException as raised:  # the future gets it, as in a thread pool
                    error = self._loops.converted(raised)
            if not self.is_closed():
                self.call_soon_threadsafe(self._function_ends, future, result, error, self._scheduler.current)

        future.add_done_callback(look)
        called = args[0] if isinstance(func, functools.partial) and args else func
        if isinstance(called, BuiltinMethodType) and not isinstance(called.__self__, ModuleType):
            self._scheduler.proof_obstacles[f"{self._place()}: {called.__qualname__} {IN_C}"] = None
        if self._scheduler.live:
            self._scheduler.point(SPAWN, job, None)
        self._functions.add(self._scheduler.start(work))
        return future

    def _function_ends(
        self, future: asyncio.Future[Any], result: object, error: BaseException | None, actor: int
    ) -> None:
        self._functions.discard(actor)
        if not self._functions and self._last_function is not None and not self._last_function.done():
            self._last_function.set_result(None)
        settle(future, result, error)

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Wait until the functions in executors have ended, as ``asyncio.run`` does in the end."""
        del timeout
        self._is_shut_down = True
        if self._own_executor is not None:
            await self._start_function(self._own_executor.shutdown, ())
        if self._functions:
            self._last_function = self.create_future()
            await self._last_function

    def _place(self) -> str:
        task = asyncio.current_task(self)
        frames = [] if task is None else task.get_stack()
        return f"{file_name(frames[-1].f_code.co_filename)}:{frames[-1].f_lineno}" if frames else "?"


def _work_of(task: asyncio.Task[Any]) -> str:
    return getattr(task.get_coro(), "__qualname__", task.get_name())


def settle(future: asyncio.Future[Any], value: object, error: BaseException | None) -> None:
    """Set the result of a future, unless it was cancelled."""
    if future.done():
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)
