"""Event loop of asyncio whose completions and timers are choices of a search."""

from __future__ import annotations

import asyncio
import contextlib
import math
from asyncio import events
from collections.abc import Callable, Coroutine, Iterator
from contextvars import Context
from typing import TYPE_CHECKING, Any, Final

from kcache_model.places import file_name

from ...engine.events import WRITE, Pending
from ..threads.refusal import refuse
from ..threads.virtual_thread import Aborted
from .cancellation import NOT_TOLERATED, TaskName
from .sources import CANCELLATIONS, COMPLETIONS, TIMERS, Arrivals, Origin, Source, origin_of, own_origin, step
from .unsupported import UnsupportedCalls

if TYPE_CHECKING:
    from .loops import EventLoops

FUNCTION_AS_A_STEP: Final = "runs a function in an executor: its steps are not interleaved with those of callbacks"
_MOST_ITERATIONS: Final = 20_000
"""Iterations after which an execution counts as endless: tests have some dozens."""
_RESOLUTION: Final = 1e-9
"""Seconds before its deadline at which asyncio calls a timer due; here only if a test sets the time."""
_MOST_MOVES: Final = 100
"""Moves of the clock after which no timer fires before a thread that can go on: code may poll until it has ended."""
_THREADS: Final = "threads"
"""Slot of the arrivals from other threads."""


class _Always:
    free = True


_ALWAYS: Final = _Always()


class _Selector:
    """Stand-in for the selector: its only call lets the environment act, and returns what has arrived."""

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[events.Handle]:
        del timeout  # 0 also if the clock shows exactly the next deadline, and then nothing is ready
        return self._loop.begin_iteration()


class Future(asyncio.Future[Any]):
    """Future of a loop. Its hash is a number, so that sets of futures have the same order in each execution."""

    def __init__(self, *, loop: EventLoop) -> None:
        self._number = loop.next_number()
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self._number


class Task(asyncio.Task[Any]):
    """Task of a loop; its hash is a number, like that of a :class:`Future`."""

    def __init__(self, coro: Any, *, loop: EventLoop, **named: Any) -> None:
        self._number = loop.next_number()
        super().__init__(coro, loop=loop, **named)

    def __hash__(self) -> int:
        return self._number


class EventLoop(UnsupportedCalls, asyncio.BaseEventLoop):
    """Loop of one virtual thread, the one that runs it.

    Args:
        loops: the loops of the execution.

    Attributes:
        is_between_iterations: whether the loop is about to begin an iteration.
        is_over: whether the loop has ended.
    """

    def __init__(self, loops: EventLoops) -> None:
        super().__init__()
        self.is_between_iterations = self.is_over = False
        self._loops = loops
        self._scheduler = scheduler = loops.scheduler
        self._cancellations = loops.cancellations
        self._thread = scheduler.current
        self._arrivals = Arrivals(self)
        self._sources: list[Source] = []
        self._cancelling: list[Source] = []
        self._functions: set[int] = set()  # numbers of the actors that run functions in executors
        self._numbers = self._moves = 0  # of futures and tasks; moves of the clock
        self._iterations = 0
        self._selector = _Selector(self)
        self._clock_resolution = 0.0  # a timer is due when the clock says so, and not earlier
        self.set_exception_handler(lambda *_: None)  # otherwise asyncio prints errors of tasks that no code awaits
        self._origins: dict[events.TimerHandle, Origin | None] = {}
        self._patient: set[events.TimerHandle] = set()  # timers that are due only when nothing else can go on
        self._has_call_of_thread = False  # whether a callback of another thread waits for the next iteration
        self._is_idle = False  # whether nothing was ready when the loop was about to begin an iteration
        clock = Source(
            self,
            "reaches its deadline",
            self._let_time_pass,
            self._may_time_pass,
            self._next_timer,
            (TIMERS,),
            is_once=False,
        )
        self._start(clock, self._sources)

    def run_forever(self) -> None:
        """Run until :meth:`stop` is called."""
        if self._scheduler.aborting:  # the code that runs it again is only cleaning up
            raise Aborted
        self._check_running()
        self._thread = self._scheduler.current
        self._loops.enter(self)
        try:
            super().run_forever()
        finally:
            self._loops.leave(self)

    def _check_running(self) -> None:
        """Raise an error if a loop runs in this thread; asyncio asks for the loop that runs in the real thread."""
        if self.is_running():
            raise RuntimeError("This event loop is already running")
        if self._loops.running not in (None, self):
            raise RuntimeError("Cannot run the event loop while another loop is running")

    def run_until_complete(self, future: Any) -> Any:
        """Run until a future is done, or until the tasks of the test are, if a cancellation has ended the future."""
        if asyncio.iscoroutine(future):
            if self._has_nothing_to_shut_down(future):
                future.close()
                return None
            if self._cancellations.most:
                future = self._with_the_others(future)
        return super().run_until_complete(future)

    def _has_nothing_to_shut_down(self, coroutine: Any) -> bool:
        """Whether this is a step of the shutdown that has nothing to do: its iterations would only be more choices."""
        code = getattr(coroutine, "cr_code", None)
        if code is asyncio.BaseEventLoop.shutdown_asyncgens.__code__:
            return not self._asyncgens  # type: ignore[attr-defined]
        return code is asyncio.BaseEventLoop.shutdown_default_executor.__code__ and self._default_executor is None  # type: ignore[attr-defined]

    async def _with_the_others(self, main: Coroutine[Any, Any, Any]) -> Any:
        try:
            return await main
        except asyncio.CancelledError:
            others = [task for task in self._cancellations.tasks.values() if not task.done()]
            if self._cancellations.cancelled and others:
                await asyncio.wait(others)
            raise

    def next_number(self) -> int:
        """Return the number of a new future or task."""
        self._numbers += 1
        return self._numbers

    def create_future(self) -> asyncio.Future[Any]:
        """Return a future of this loop."""
        return Future(loop=self)

    def create_task(self, coro: Any, **named: Any) -> asyncio.Task[Any]:
        """Create a task; if it is the test's own, the environment may cancel it."""
        task: asyncio.Task[Any]
        if self.get_task_factory() is None:
            self._check_closed()  # type: ignore[attr-defined]
            task = Task(coro, loop=self, **named)
        else:
            task = super().create_task(coro, **named)
        if self._cancellations.most and self.is_running() and not task.done():
            name = self._cancellations.name_of(task, own_origin())
            if name is None:
                return task
            if name in self._cancellations.at_birth:
                self._cancellations.deliver(name)
                task.cancel()
            elif self._cancellations.tolerate(name):
                self._may_be_cancelled(task, name)
            else:
                place = f"{file_name(name.path)}:{name.line}"
                self._scheduler.proof_obstacles[f"{place}: {NOT_TOLERATED}"] = None
        return task

    def close(self) -> None:
        """Close the loop, and the coroutines that were not finished: a later collection would run code of them."""
        for task in asyncio.all_tasks(self):
            setattr(task, "_log_destroy_pending", False)  # noqa: B010 (typeshed does not know it)
            with contextlib.suppress(BaseException):
                task.get_coro().close()
        super().close()
        self.is_over = True
        self._loops.closed(self)

    def __del__(self) -> None:
        """Do nothing: an execution that is aborted leaves its loops open."""

    def _asyncgen_finalizer_hook(self, agen: Any) -> None:
        """Close an asynchronous generator that dies, unless the execution has been aborted: then no code runs."""
        if self._scheduler.live and not self._scheduler.aborting:
            super()._asyncgen_finalizer_hook(agen)  # type: ignore[misc]

    # What BaseEventLoop leaves to its subclasses.

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
        self._arrivals.came_from.append(self._scheduler.current)
        self._has_call_of_thread = True
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
            self._functions.discard(self._scheduler.current)

        self._functions.add(self._start_once("begins in an executor", work))
        return future

    # The environment.

    def complete(self, value: object = None) -> asyncio.Future[Any]:
        """Return a future that is completed at any moment: the result of some input or output."""
        future = self.create_future()
        handle = events.Handle(_settle, (future, value, None), self)
        self._start_once("gets its input or output", lambda: self._arrivals.handles.append(handle))
        return future

    def begin_iteration(self) -> list[events.Handle]:
        """Let the environment act, and return what has arrived; if nothing is ready, wait until something has."""
        self._iterations += 1
        self._clock_resolution = _RESOLUTION if self._has_own_clock else 0.0
        is_idle = self._is_idle = not (self._ready or self._stopping)  # type: ignore[attr-defined]
        if self._iterations > _MOST_ITERATIONS:
            refuse(self._scheduler, "has more iterations of the event loop than can be explored", None)
        able: list[Pending] = [(WRITE, self._arrivals, each) for each in self._sources if each.has_something()]
        if self._functions:
            able.append((WRITE, self._arrivals, _THREADS))
        if self._cancelling:
            able += [(WRITE, self._arrivals, each) for each in self._cancelling if each.has_something()]
        if able or is_idle:
            is_waiting = is_idle and not self._arrivals.free
            self._arrivals.came_from.clear()

            def begins() -> Pending:
                came_from = self._arrivals.came_from
                return step(able, came_from[0] if is_waiting and len(came_from) == 1 else None)

            self.is_between_iterations = True
            try:
                self._scheduler.point_when(step(able), self._arrivals if is_idle else _ALWAYS, begins)
            finally:
                self.is_between_iterations = False
        arrived, self._arrivals.handles = self._arrivals.handles, []
        self._has_call_of_thread = False
        return arrived

    @property
    def has_run(self) -> bool:
        """Whether the loop has begun an iteration."""
        return self._iterations > 0

    @property
    def has_due_timer(self) -> bool:
        """Whether the clock has passed a deadline."""
        return any(map(self._is_due, self._timers()))

    def _timers(self) -> Iterator[events.TimerHandle]:
        return (timer for timer in self._scheduled if not timer.cancelled())  # type: ignore[attr-defined]

    def _is_due(self, timer: events.TimerHandle) -> bool:
        return timer.when() < self.time() + self._clock_resolution

    @property
    def _has_own_clock(self) -> bool:
        """Whether the test has replaced :meth:`time`, so that it decides itself when time passes."""
        return "time" in vars(self)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> events.TimerHandle:
        """Schedule a callback for a moment, and remember which line has asked for it."""
        timer = super().call_at(when, callback, *args, context=context)
        self._origins[timer] = own_origin()
        if when - self._scheduler.now >= self._scheduler.longest and not self._scheduler.ends_any_time:
            self._patient.add(timer)
        return timer

    def _next_timer(self) -> Origin | None:
        """Return the line that has asked for the timer with the next deadline."""
        timer = self._later_timer()
        return None if timer is None else self._origins.get(timer)

    def _later_timer(self) -> events.TimerHandle | None:
        """Return the timer with the next deadline that the clock has not passed."""
        later = [timer for timer in self._timers() if not self._is_due(timer)]
        return min(later, key=lambda timer: timer.when()) if later else None

    def _may_time_pass(self) -> bool:
        """Whether the clock may pass the next deadline: of a long wait only if nothing else was ready or due."""
        if self._has_own_clock:
            return False
        timer = self._later_timer()
        is_long = timer in self._patient
        if (is_long and (not self._is_idle or self.has_due_timer)) or (
            (is_long or self._moves > _MOST_MOVES) and self._others_can_go_on()
        ):
            self._scheduler.was_patient = True
            return False
        return timer is not None

    def _others_can_go_on(self) -> bool:
        """Whether a thread beside the loop, or a function in an executor, can go on, or has called the loop."""
        if self._has_call_of_thread:
            return True
        beside = self._scheduler.actors.keys() - self._loops.environment - {self._thread}
        return any(self._scheduler.actors[number].enabled for number in (*beside, *self._functions))

    def _let_time_pass(self) -> None:
        """Move the clock just past the next deadline."""
        timer = self._later_timer()
        assert timer is not None
        self._scheduler.now = math.nextafter(timer.when(), math.inf)
        self._moves += 1

    def _start_once(self, what: str, deliver: Callable[[], object]) -> int:
        """Start a completion, which delivers once, at any moment; return the number of its actor."""
        asked_at = own_origin()
        source = Source(self, what, deliver, lambda: True, lambda: asked_at, (COMPLETIONS,), is_once=True)
        return self._start(source, self._sources)

    def _may_be_cancelled(self, task: asyncio.Task[Any], name: TaskName) -> None:
        """Let the environment cancel a task at each of its awaits, as long as cancellations are left."""

        def cancel() -> None:
            self._cancellations.deliver(name)
            if self.has_due_timer:  # the clock has moved: after the timers that are due
                super(EventLoop, self).call_at(math.nextafter(self._scheduler.now, -math.inf), task.cancel)
            else:
                self._arrivals.handles.append(events.Handle(task.cancel, (), self))

        def is_possible() -> bool:
            return not task.done() and self._cancellations.allow(name) and not self._stands_still

        def waits_at() -> Origin | None:
            frames = task.get_stack()
            return origin_of(frames[-1]) if frames else None

        orders = (COMPLETIONS, TIMERS, CANCELLATIONS)
        source = Source(self, "is cancelled", cancel, is_possible, waits_at, orders, is_once=True)
        self._start(source, self._cancelling)

    @property
    def _stands_still(self) -> bool:
        """Whether nothing can go on. A cancellation is no help then: the environment may leave it out."""
        is_idle = not (self._ready or self._stopping)  # type: ignore[attr-defined]
        is_helped = self._functions or self._arrivals.free or any(each.has_something() for each in self._sources)
        return is_idle and not is_helped

    def _start(self, source: Source, among: list[Source]) -> int:
        """Start the actor of a source; it delivers once, or whenever there is something; return its number."""
        among.append(source)

        def happens() -> Pending:
            return source.delivery(self._arrivals) if source.may_deliver else source.end(self._arrivals)

        def act() -> None:
            while True:
                self._scheduler.point_when(source.delivery(self._arrivals), source, happens)
                if not source.may_deliver:
                    return
                if source.is_once:
                    among.remove(source)
                source.deliver()
                self._arrivals.came_from.append(self._scheduler.current)
                if source.is_once:
                    return

        number = self._scheduler.start(act)
        self._loops.environment.add(number)
        return number

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
