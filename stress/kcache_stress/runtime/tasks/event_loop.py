"""Event loop of asyncio whose completions and timers are choices of a search."""

from __future__ import annotations

import asyncio
import math
from asyncio import events
from collections.abc import Callable, Iterator
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kcache_model.places import file_name

from ...engine.events import WRITE, Pending
from ...engine.scheduling import HUB
from ..threads.refusal import refuse
from ..threads.virtual_thread import Timed
from .cancellation import NOT_TOLERATED, TaskName
from .served_loop import ServedLoop
from .sources import (
    CANCEL,
    CANCELLATION,
    CANCELLATIONS,
    COMPLETIONS,
    DEADLINE,
    INPUT,
    OTHER,
    TIME,
    TIMERS,
    WAIT,
    Arrival,
    Arrivals,
    Awaited,
    Origin,
    Source,
    origin_of,
    own_origin,
    step,
)
from .streams import ConnectingLoop
from .unsupported import FROM_OTHER_THREAD
from .virtual_loop import VirtualLoop, settle

if TYPE_CHECKING:
    from ..threads.scheduler import Scheduler
    from .loops import EventLoops

_MOST_ITERATIONS: Final = 10_000
"""Iterations after which an execution counts as endless: tests have some dozens."""
_LATEST: Final = 50
"""Iterations after which a completion has to come: a task that asks for it again and again would never end."""
_LATEST_TIMER: Final = 1_000
"""Iterations after which a timer has to be due; more, because a long timeout is not meant to end during short work."""
_RESOLUTION: Final = 1e-9
"""Seconds before its deadline at which asyncio calls a timer due; here only if a test sets the time."""
_MOST_MOVES: Final = 100
"""Moves of the clock after which no timer fires before a thread that can go on: code may poll until it has ended."""
FORCED: Final = "asks again and again for what has not arrived: later arrivals are not tried"
_THREADS: Final = "threads"
"""Slot of the arrivals from other threads."""


class _Always:
    free = True


_ALWAYS: Final = _Always()


class EventLoop(ConnectingLoop, VirtualLoop):  # type: ignore[misc]
    """Loop of one virtual thread, the one that runs it.

    Args:
        loops: the loops of the execution.

    Attributes:
        is_between_iterations: whether the loop is about to begin an iteration.
        is_over: whether the loop has ended.
    """

    def __init__(self, loops: EventLoops) -> None:
        super().__init__(loops)
        self.is_between_iterations = False
        self._has_run = self._has_clock = False
        self._number, self._tasks, self._inputs = loops.next_number(), 0, 0  # of the loop; counts
        self._is_of_harness = loops.scheduler.current == HUB
        self._cancellations = loops.cancellations
        self._arrivals = Arrivals(self)
        self._sources: list[Source] = []
        self._cancelling: list[Source] = []
        self._own_tasks: dict[asyncio.Task[Any], int] = {}  # of the test -> its number, if there are cancellations
        self._iterations = self._moves = 0  # moves of the clock
        self._patient: set[events.TimerHandle] = set()  # timers that are due only when nothing else can go on
        self._has_call_of_others = False  # whether a callback of a thread or a stream waits for the next iteration
        self._is_idle = False  # whether nothing was ready when the loop was about to begin an iteration
        self._turns: list[events.Handle] = []  # callbacks that are ready and run in any order
        self._clock_resolution = 0.0  # a timer is due when the clock says so, and not earlier
        self._origins: dict[events.TimerHandle, Origin | None] = {}

    def served(self) -> ServedLoop:
        """Return another loop, which waits as threads do."""
        return ServedLoop(self._loops)

    def run_forever(self) -> None:
        """Run until :meth:`stop` is called; not at all after the execution, when finalizers may try to."""
        if not (self._scheduler.live or self._is_alone):
            return
        if not (self._has_clock or self._is_alone):
            self._start_clock()
        super().run_forever()

    def run_until_complete(self, future: Any) -> Any:
        """Run until a future is done, or until the tasks of the test are, if a cancellation has ended the future."""
        if not (self._scheduler.live or self._is_alone) or self._has_nothing_to_shut_down(future):
            getattr(future, "close", lambda: None)()
            return None
        try:
            return super().run_until_complete(future)
        except asyncio.CancelledError:
            if others := self._cancellations.unfinished:
                self._loops.arrivals += [Arrival(self._number, 0, WAIT, self._own_tasks[task]) for task in others]
                super().run_until_complete(asyncio.wait(others))
            raise

    @property
    def _is_alone(self) -> bool:
        """Whether no thread of a program runs: an object is created, filled or read back, so there are no choices."""
        return self._is_of_harness and self._scheduler.current == HUB and not self._scheduler.live

    def _has_nothing_to_shut_down(self, coroutine: Any) -> bool:
        """Whether this is a step of the shutdown that has nothing to do: its iterations would only be more choices."""
        code = getattr(coroutine, "cr_code", None)
        if code is asyncio.BaseEventLoop.shutdown_asyncgens.__code__:
            return not self._asyncgens  # type: ignore[attr-defined]
        return code is VirtualLoop.shutdown_default_executor.__code__ and not self._functions

    def create_task(self, coro: Any, **named: Any) -> asyncio.Task[Any]:
        """Create a task; if it is the test's own, the environment may cancel it."""
        task = super().create_task(coro, **named)
        number, self._tasks = self._tasks, self._tasks + 1
        if self._cancellations.most and self.is_running() and not (task.done() or self._is_alone):
            name = self._cancellations.name_of(task, own_origin())
            self._own_tasks[task] = number
            if name is None:
                return task
            if name in self._cancellations.at_birth:
                self._cancellations.deliver(name)
                task.cancel()
            elif self._cancellations.tolerate(name):
                self._may_be_cancelled(task, name, number)
            else:
                place = f"{file_name(name.path)}:{name.line}"
                self._scheduler.proof_obstacles[f"{place}: {NOT_TOLERATED}"] = None
        return task

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> events.Handle:
        """Schedule a callback; if callbacks run in any order, its turn comes at any moment, as that of a completion."""
        self._check_closed()  # type: ignore[attr-defined]
        self._require_own_thread("call_soon")
        handle = events.Handle(callback, args, self, context)
        if not self._loops.is_any_order or self._is_alone:
            self._append(handle)
            return handle

        self._turns.append(handle)
        self._start_once("is ready", lambda: self._arrivals.handles.append(handle), lambda: not handle.cancelled())
        return handle

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> events.Handle:
        """Schedule a callback, also from another virtual thread; it arrives with the next completions."""
        if self._loops.running is self or self._is_alone:
            return self.call_soon(callback, *args, context=context)
        self._check_closed()  # type: ignore[attr-defined]
        handle = events.Handle(callback, args, self, context)
        self._append(handle)
        self._loops.arrivals.append(Arrival(self._number, self._iterations, OTHER, 0))
        self._arrivals.came_from.append(self._scheduler.current)
        self._has_call_of_others = True
        return handle

    def _require_own_thread(self, used: str) -> None:
        """Record that another thread calls the running loop, which then may not wake up."""
        if self._thread_id is not None and self._loops.running is not self:  # type: ignore[attr-defined]
            self._scheduler.proof_obstacles[f"{used} {FROM_OTHER_THREAD}"] = None

    def _append(self, handle: events.Handle) -> None:
        """Append a callback to those that are ready; its place among those that other threads append is an event."""
        if self._loops.has_company and not self._is_alone:
            event: Pending = (WRITE, self._arrivals, _THREADS)
            self._scheduler.point_when(event, _ALWAYS, lambda: event)
        self._ready.append(handle)  # type: ignore[attr-defined]

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """Run a function in a virtual thread; at once if there is no other."""
        if not self._is_alone:
            return super().run_in_executor(executor, func, *args)
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    # The environment.

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler of the execution."""
        return self._scheduler

    def deliver(self, context: Context, callback: Callable[..., object], *args: Any) -> None:
        """Let a callback arrive with the next iteration."""
        self._has_call_of_others = True
        self._arrivals.handles.append(events.Handle(callback, args, self, context))

    def start_source(
        self, what: str, deliver: Callable[[], object], has_something: Callable[[], bool], origin: Origin | None
    ) -> None:
        """Let the environment deliver whenever there is something for what code has asked for at ``origin``."""
        source = Source(self, what, deliver, has_something, lambda: origin, (COMPLETIONS,), is_once=False)
        self._start(source, self._sources)

    def complete(self, value: object = None) -> asyncio.Future[Any]:
        """Return a future that is completed at any moment: the result of some input or output."""
        future = self.create_future()
        handle = events.Handle(settle, (future, value, None), self)
        number, self._inputs = self._inputs, self._inputs + 1
        if self._is_alone:
            self._arrivals.handles.append(handle)
        else:
            what = "gets its input or output"
            self._start_once(what, lambda: self._arrivals.handles.append(handle), forced=(INPUT, number))
        return future

    def begin_iteration(self, timeout: float | None) -> list[events.Handle]:
        """Let the environment act, and return what has arrived; if nothing is ready, wait until something has."""
        del timeout  # 0 also if the clock shows exactly the next deadline, and then nothing is ready
        self._iterations += 1
        self._clock_resolution = _RESOLUTION if self._has_own_clock else 0.0
        is_idle = self._is_idle = not (self._ready or self._stopping)  # type: ignore[attr-defined]
        if self._iterations > _MOST_ITERATIONS:
            why = f"the event loop has more than {_MOST_ITERATIONS:,} iterations: {'; '.join(self.waits())}"
            refuse(self._scheduler, why, None)
        if self._is_alone:
            self._wait_alone()
            return self._arrived()
        self._has_run = True
        able: list[Pending] = [(WRITE, self._arrivals, each) for each in self._sources if each.has_something()]
        if self._loops.has_company:
            able.append((WRITE, self._arrivals, _THREADS))
        if self._cancelling:
            able += [(WRITE, self._arrivals, each) for each in self._cancelling if each.has_something()]
        late = self._late_source()
        if able or is_idle:
            is_waiting = is_idle and not self._arrivals.free
            self._arrivals.came_from.clear()

            def begins() -> Pending:
                came_from = self._arrivals.came_from
                return step(able, came_from[0] if is_waiting and len(came_from) == 1 else None)

            self.is_between_iterations = True
            try:
                waits_for = late or (self._arrivals if is_idle else _ALWAYS)
                self._scheduler.point_when(step(able), waits_for, begins)
            finally:
                self.is_between_iterations = False
        return self._arrived()

    def _arrived(self) -> list[events.Handle]:
        arrived, self._arrivals.handles = self._arrivals.handles, []
        if self._turns:
            self._turns = [handle for handle in self._turns if handle not in arrived]
        self._has_call_of_others = False
        return arrived

    def _wait_alone(self) -> None:
        """If nothing is ready, let time pass until something is."""
        if self._is_idle and not self._arrivals.handles and not self.has_due_timer:
            if self._later_timer() is None:
                why = f"an event loop waits although no thread runs: {'; '.join(self.waits())}"
                refuse(self._scheduler, why, None)
            self._let_time_pass()

    def _late_source(self) -> Awaited | None:
        """Return the wait for a source that has not delivered for too long; ``None`` if there is no such source."""
        for source in self._sources:
            source.waited = source.waited + 1 if source.has_something() else 0
            if source.waited > (_LATEST if source.is_once else _LATEST_TIMER):
                self._scheduler.proof_obstacles[f"{'; '.join(self.waits())}: {FORCED}"] = None
                return Awaited(source)
        return None

    @property
    def has_run(self) -> bool:
        """Whether the loop has begun an iteration in a thread of a program."""
        return self._has_run

    @property
    def has_ready(self) -> bool:
        """Whether a callback is ready."""
        return bool(self._ready)  # type: ignore[attr-defined]

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
        """Schedule a callback for a moment, and remember which line has asked for it.

        A moment that has come is past, because a real clock would have gone on. For the same reason no two moments are
        the same: of two timers of the same length, the clock may have passed only the first.
        """
        self._require_own_thread("call_at")
        now = self._scheduler.now
        is_long = self._loops.is_patient and when - now >= self._scheduler.longest
        if when > now or self._has_own_clock:
            others = {timer.when() for timer in self._timers()}
            while when in others:
                when = math.nextafter(when, math.inf)
        else:
            when, self._scheduler.now = now, math.nextafter(now, math.inf)
        if self._loops.is_any_time and not (self._has_own_clock or self._is_alone):
            return self._call_late(events.TimerHandle(when, callback, args, self, context), is_long=is_long)
        timer = super().call_at(when, callback, *args, context=context)
        self._origins[timer] = own_origin()
        if is_long:
            self._patient.add(timer)
        return timer

    def _call_late(self, timer: events.TimerHandle, *, is_long: bool) -> events.TimerHandle:
        """Let a timer be due at any moment, whatever the deadlines of others; a long one when nothing else is ready."""

        def ring() -> None:
            self._scheduler.now = max(self._scheduler.now, math.nextafter(timer.when(), math.inf))
            self._arrivals.handles.append(timer)

        def may_ring() -> bool:
            if timer.when() == math.inf:
                return False
            if timer.cancelled() or not (is_long and (self._is_something_ready or self._others_can_go_on())):
                return not timer.cancelled()
            self._scheduler.was_patient = True
            return False

        self._start_once(DEADLINE, ring, may_ring)
        return timer

    @property
    def _is_something_ready(self) -> bool:
        """Whether a callback is ready or due when the loop is about to begin an iteration."""
        return not self._is_idle or self.has_due_timer or any(not handle.cancelled() for handle in self._turns)

    def _next_timer(self) -> Origin | None:
        """Return the line that has asked for the timer with the next deadline."""
        timer = self._later_timer()
        return None if timer is None else self._origins.get(timer)

    def _later_timer(self) -> events.TimerHandle | None:
        """Return the timer with the next deadline that the clock has not passed."""
        later = [timer for timer in self._timers() if not self._is_due(timer) and timer.when() < math.inf]
        return min(later, key=lambda timer: timer.when()) if later else None

    def _may_time_pass(self) -> bool:
        """Whether the clock may pass the next deadline: of a long wait only if nothing else was ready or due."""
        if self._has_own_clock:
            return False
        timer = self._later_timer()
        is_long = timer in self._patient
        if (is_long and self._is_something_ready) or (
            (is_long or self._moves > _MOST_MOVES) and (self._others_can_go_on() or self._is_later_than_others(timer))
        ):
            self._scheduler.was_patient = True
            return False
        return timer is not None

    def _others_can_go_on(self) -> bool:
        """Whether a stream, another thread, or a function in an executor can go on, or has called the loop."""
        if self._has_call_of_others or any(each.has_something() for each in self._sources if each.is_soon):
            return True
        beside = self._scheduler.actors.keys() - self._loops.environment - {self._thread}
        return any(self._scheduler.actors[number].enabled for number in (*beside, *self._functions))

    def _is_later_than_others(self, timer: events.TimerHandle | None) -> bool:
        """Whether the wait of a thread beside the loop ends before a timer is due."""
        if timer is None:
            return False
        waits = (actor.waits_for for actor in self._scheduler.actors.values() if not actor.finished)
        return any(isinstance(wait, Timed) and wait.deadline < timer.when() for wait in waits)

    def _let_time_pass(self) -> None:
        """Move the clock just past the next deadline."""
        timer = self._later_timer()
        assert timer is not None
        self._scheduler.now = math.nextafter(timer.when(), math.inf)
        self._moves += 1

    def _start_clock(self) -> None:
        self._has_clock = True
        clock = Source(
            self,
            DEADLINE,
            self._let_time_pass,
            self._may_time_pass,
            self._next_timer,
            (TIMERS,),
            is_once=False,
            forced=(TIME, 0),
        )
        self._start(clock, self._sources)

    def _start_once(
        self,
        what: str,
        deliver: Callable[[], object],
        has_something: Callable[[], bool] = lambda: True,
        forced: tuple[str, int] = (OTHER, 0),
    ) -> int:
        """Start a completion, which delivers once, at any moment; return the number of its actor."""
        asked_at = own_origin()
        source = Source(
            self, what, deliver, has_something, lambda: asked_at, (COMPLETIONS,), is_once=True, forced=forced
        )
        return self._start(source, self._sources)

    def _may_be_cancelled(self, task: asyncio.Task[Any], name: TaskName, number: int) -> None:
        """Let the environment cancel a task at each of its awaits, as long as cancellations are left."""

        def cancel() -> None:
            self._cancellations.deliver(name)
            happens = partial(self._cancellations.cancel, task, self._own_tasks)
            if self.has_due_timer:  # the clock has moved: after the timers that are due
                super(EventLoop, self).call_at(math.nextafter(self._scheduler.now, -math.inf), happens)
            else:
                self._arrivals.handles.append(events.Handle(happens, (), self))

        def is_possible() -> bool:
            return not task.done() and self._cancellations.allow(name) and not self._stands_still

        def waits_at() -> Origin | None:
            frames = task.get_stack()
            return origin_of(frames[-1]) if frames else None

        orders = (COMPLETIONS, TIMERS, CANCELLATIONS)
        source = Source(
            self, CANCELLATION, cancel, is_possible, waits_at, orders, is_once=True, forced=(CANCEL, number)
        )
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
                self._loops.arrivals.append(Arrival(self._number, self._iterations, *source.forced))
                source.deliver()
                source.waited = 0
                self._arrivals.came_from.append(self._scheduler.current)
                if source.is_once:
                    return

        number = self._scheduler.start(act)
        self._loops.environment.add(number)
        return number
