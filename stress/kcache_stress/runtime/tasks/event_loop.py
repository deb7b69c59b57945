"""Event loop of asyncio whose completions and timers are choices of a search."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import sys
from asyncio import events, runners
from collections.abc import Callable, Coroutine, Iterator
from contextvars import Context
from types import FrameType
from typing import Any, Final, NamedTuple

from kcache_model.places import file_name

from ...engine.events import READ, WRITE, AtomicAccesses, Pending
from ...stacks import OWN_FILES
from ..threads.refusal import refuse
from ..threads.scheduler import Scheduler
from ..threads.virtual_thread import Aborted

FUNCTION_AS_A_STEP: Final = "runs a function in an executor: its steps are not interleaved with those of callbacks"
THREADS_BESIDE_A_LOOP: Final = "an async test starts threads: what they share with callbacks is not seen"
_MOST_ITERATIONS: Final = 20_000
"""Iterations after which an execution counts as endless: tests have some dozens."""
_MACHINERY: Final = (f"{os.path.dirname(asyncio.__file__)}{os.sep}", OWN_FILES)
"""Folders of code that is neither a test nor tested."""
_THREADS: Final = "threads"
"""Slot of the arrivals from other threads."""


class Origin(NamedTuple):
    """Place in the code under test: file, line and name of the function."""

    path: str
    line: int
    function: str


def _origin() -> Origin | None:
    """Return the place of the innermost frame that is neither of the harness nor of asyncio."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_MACHINERY):
        frame = frame.f_back
    return None if frame is None else Origin(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


class _Always:
    free = True


_ALWAYS: Final = _Always()


class Arrivals:
    """Deliveries of the environment to a loop; the loop waits for one when nothing is ready.

    Attributes:
        handles: the callbacks of completions, in their order.
    """

    def __init__(self, loop: EventLoop) -> None:
        self.handles: list[events.Handle] = []
        self._loop = loop

    @property
    def free(self) -> bool:
        """Whether the loop can go on: something has arrived, or a timer is due."""
        return bool(self.handles) or self._loop.has_due_timer

    @property
    def what(self) -> str:
        """Description of the waits of the loop's tasks."""
        return "; ".join(("an event of its loop that never comes", *self._loop.waits()))


class _Source:
    """Part of the environment: the clock, or one completion.

    When the loop begins an iteration, the source may deliver. If it does not, the iteration begins without it. A source
    that never delivered has a last event when the loop has ended: so the search sees that it could have delivered
    earlier, at the last iteration at which it had something.

    Args:
        loop: the loop.
        has_something: whether there is something to deliver.
        is_ordered: whether the order of the deliveries for one iteration matters.

    Attributes:
        what: the delivery, for reports.
        origin: returns the place at which code has asked for what is delivered next; ``None`` if it is unknown.
    """

    def __init__(
        self,
        loop: EventLoop,
        what: str,
        has_something: Callable[[], bool],
        origin: Callable[[], Origin | None],
        *,
        is_ordered: bool,
    ) -> None:
        self.what = what
        self.origin = origin
        self.has_something = has_something
        self._loop = loop
        self._is_ordered = is_ordered

    @property
    def free(self) -> bool:
        """Whether the source can act."""
        return self._loop.is_over or self.may_deliver

    @property
    def may_deliver(self) -> bool:
        """Whether the loop begins an iteration, and there is something to deliver."""
        return self._loop.is_between_iterations and self.has_something()

    def delivery(self, arrivals: Arrivals) -> Pending:
        """Return the event of a delivery."""
        return _step([(WRITE, arrivals, self), *([(WRITE, arrivals, "order")] if self._is_ordered else [])])


def _step(parts: list[Pending]) -> Pending:
    step = AtomicAccesses(tuple(parts))
    return WRITE, step, step


class _Selector:
    """Stand-in for the selector: its only call lets the environment act, and returns what has arrived."""

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[events.Handle]:
        del timeout  # 0 also if the clock shows exactly the next deadline, and then nothing is ready
        return self._loop.begin_iteration()


class EventLoop(asyncio.BaseEventLoop):
    """Loop of one virtual thread, which has to create and to run it.

    Args:
        scheduler: runs the thread, the clock and the completions.

    Attributes:
        is_between_iterations: whether the loop is about to begin an iteration.
        is_over: whether the loop has ended.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self.is_between_iterations = self.is_over = False
        self._scheduler = scheduler
        self._thread = scheduler.current
        self._arrivals = Arrivals(self)
        self._sources: list[_Source] = []
        self._started = 0  # sources so far
        self._functions = 0  # running in executors
        self._iterations = 0
        self._selector = _Selector(self)
        self._clock_resolution = 0.0  # a timer is due when the clock says so, and not earlier
        self.set_exception_handler(lambda *_: None)  # otherwise asyncio prints errors of tasks that no code awaits
        self._origins: dict[events.TimerHandle, Origin | None] = {}
        self._start("reaches its deadline", self._let_time_pass, lambda: bool(self._later_deadlines()))

    def run(self, main: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine to its end, then cancel the other tasks, as ``asyncio.run`` does."""
        try:
            result = self.run_until_complete(main)
        except Aborted:
            raise
        except BaseException:
            self._cancel_tasks()
            raise
        else:
            self._cancel_tasks()
            return result
        finally:
            self.close()

    def _cancel_tasks(self) -> None:
        runners._cancel_all_tasks(self)  # type: ignore[attr-defined]
        self.run_until_complete(self.shutdown_asyncgens())

    def close(self) -> None:
        """Close the loop, and the coroutines that were not finished: a later collection would run code of them."""
        for task in asyncio.all_tasks(self):
            setattr(task, "_log_destroy_pending", False)  # noqa: B010 (typeshed does not know it)
            with contextlib.suppress(BaseException):
                task.get_coro().close()
        super().close()
        self.is_over = True
        if len(self._scheduler.actors) > 1 + self._started:
            self._scheduler.proof_obstacles[THREADS_BESIDE_A_LOOP] = None

    # What BaseEventLoop leaves to its subclasses.

    def time(self) -> float:
        """Return the virtual time."""
        return self._scheduler.now

    def _process_events(self, event_list: list[events.Handle]) -> None:
        for handle in event_list:
            self._add_callback(handle)  # type: ignore[attr-defined]

    def _write_to_self(self) -> None:
        """Wake the loop up: not needed, as its selector looks at the arrivals."""

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> events.Handle:
        """Schedule a callback, also from another virtual thread; it arrives with the next completions."""
        if self._scheduler.current == self._thread:
            return self.call_soon(callback, *args, context=context)
        handle = events.Handle(callback, args, self, context)
        event: Pending = (WRITE, self._arrivals, _THREADS)
        self._scheduler.point_when(event, _ALWAYS, lambda: event)
        self._arrivals.handles.append(handle)
        return handle

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """Run a function in a virtual thread that begins at some iteration, and deliver its result later."""
        del executor
        self._scheduler.proof_obstacles[f"{self._place()}: {FUNCTION_AS_A_STEP}"] = None
        future = self.create_future()

        def work() -> None:
            try:
                result, error = func(*args), None
            except Exception as raised:
                result, error = None, raised
            self.call_soon_threadsafe(_settle, future, result, error)
            self._functions -= 1

        self._functions += 1
        self._start("begins in an executor", work)
        return future

    # The environment.

    def complete(self, value: object = None) -> asyncio.Future[Any]:
        """Return a future that is completed at any moment: the result of some input or output."""
        future = self.create_future()
        handle = events.Handle(_settle, (future, value, None), self)
        self._start("gets its input or output", lambda: self._arrivals.handles.append(handle))
        return future

    def begin_iteration(self) -> list[events.Handle]:
        """Let the environment act, and return what has arrived; if nothing is ready, wait until something has."""
        self._iterations += 1
        is_idle = not (self._ready or self._stopping)  # type: ignore[attr-defined]
        if self._iterations > _MOST_ITERATIONS:
            refuse(self._scheduler, "has more iterations of the event loop than can be explored", None)
        able: list[Pending] = [(WRITE, self._arrivals, each) for each in self._sources if each.has_something()]
        if self._functions:
            able.append((WRITE, self._arrivals, _THREADS))
        if able or is_idle:
            event = _step(able)
            self.is_between_iterations = True
            try:
                self._scheduler.point_when(event, self._arrivals if is_idle else _ALWAYS, lambda: event)
            finally:
                self.is_between_iterations = False
        arrived, self._arrivals.handles = self._arrivals.handles, []
        return arrived

    @property
    def has_due_timer(self) -> bool:
        """Whether the clock has passed a deadline."""
        return any(deadline < self._scheduler.now for deadline in self._deadlines())

    def _deadlines(self) -> Iterator[float]:
        return (timer.when() for timer in self._scheduled if not timer.cancelled())  # type: ignore[attr-defined]

    def _later_deadlines(self) -> list[float]:
        return [deadline for deadline in self._deadlines() if deadline >= self._scheduler.now]

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> events.TimerHandle:
        """Schedule a callback for a moment, and remember which line has asked for it."""
        timer = super().call_at(when, callback, *args, context=context)
        self._origins[timer] = _origin()
        return timer

    def _next_timer(self) -> Origin | None:
        """Return the line that has asked for the timer with the next deadline."""
        later = [timer for timer in self._scheduled if not timer.cancelled() and timer.when() >= self._scheduler.now]  # type: ignore[attr-defined]
        return self._origins.get(min(later, key=lambda timer: timer.when())) if later else None

    def _let_time_pass(self) -> None:
        """Move the clock just past the next deadline."""
        self._scheduler.now = math.nextafter(min(self._later_deadlines()), math.inf)

    def _start(self, what: str, deliver: Callable[[], object], has_something: Callable[[], bool] | None = None) -> None:
        """Start the actor of a source: it delivers once, or, with ``has_something``, whenever there is something."""
        asked_at = _origin()
        is_once = has_something is None
        origin = (lambda: asked_at) if is_once else self._next_timer
        source = _Source(self, what, has_something or (lambda: True), origin, is_ordered=is_once)
        self._sources.append(source)
        self._started += 1

        def happens() -> Pending:
            return source.delivery(self._arrivals) if source.may_deliver else (READ, self._arrivals, source)

        def act() -> None:
            while True:
                self._scheduler.point_when(source.delivery(self._arrivals), source, happens)
                if not source.may_deliver:
                    return
                if is_once:
                    self._sources.remove(source)
                deliver()
                if is_once:
                    return

        self._scheduler.start(act)

    def waits(self) -> Iterator[str]:
        """Yield for each task that has not ended where it waits."""
        for task in sorted(asyncio.all_tasks(self), key=lambda task: task.get_name()):
            frames = task.get_stack(limit=None)
            if frames:
                frame = frames[-1]
                name = getattr(task.get_coro(), "__qualname__", task.get_name())
                yield f"{name} awaits at {file_name(frame.f_code.co_filename)}:{frame.f_lineno}"

    def _place(self) -> str:
        task = asyncio.current_task(self)
        frames = [] if task is None else task.get_stack()
        return f"{file_name(frames[-1].f_code.co_filename)}:{frames[-1].f_lineno}" if frames else "?"


def _settle(future: asyncio.Future[Any], value: object, error: BaseException | None) -> None:
    """Set the result of a future, unless it was cancelled."""
    if future.done():
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)
