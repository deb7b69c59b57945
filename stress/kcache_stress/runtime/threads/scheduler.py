"""Scheduler of virtual threads: greenlets in one OS thread. One of them runs until the strategy chooses another.

Before each visible event, a virtual thread calls :meth:`Scheduler.point`. Usually the thread goes on at once: the
strategy has allowed it a number of events, and only a counter is checked. If the counter is used up, the thread records
its next event as pending, and the strategy chooses the next thread.

Outside an exploration - while an Indexer is created, filled and read back - the hub (the greenlet of the harness) does
the work. If the hub has to wait, the target's own threads run until the wait is over.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Container, Sequence
from math import inf
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Final

import greenlet

from ...engine.equal_actors import NONE_EQUAL
from ...engine.events import ACQUIRE, JOIN, PAUSE, READ, RELEASE, SPAWN, TRY, WRITE, Pending, Trace, namespaces
from ...engine.execution import Timeout
from ...engine.scheduling import FOREVER, HUB
from ...engine.weak_objects import start_over, weakly
from ...garbage import NoCollections
from .deadlines import MOST_TIES, SHORTEST, TOLERANCE, Haste, let_end_together, let_time_pass, next_timeouts
from .greenlet_pool import GreenletPool
from .library import own_idents
from .opcode_tracer import OpcodeTracer
from .unwinding import restore_locks, unnoticed
from .virtual_thread import Aborted, SetupDeadlockError, Timed, VirtualThread, Waitable

if TYPE_CHECKING:
    from .clock import Readings

MOST_PROGRAM_THREADS: Final = 128  # introduced to `threading` beforehand; the code under test may start any number

TICK: Final = 1e-6
"""Seconds that pass with each reading of the clock: the default of :attr:`Scheduler.tick`."""
_SPARE_GREENLETS = 4
_SWALLOWED_ABORTS = 20
_ROOM_TO_CHOOSE = 100
"""Frames that a strategy may need on top of the stack of a thread that has reached the recursion limit."""
_ABORTED_EVENTS = 200
"""Number of events that an aborted thread may perform to clean up before it is aborted again."""


class Scheduler:
    """The virtual threads of one OS thread. Not re-entrant: one execution at a time.

    Args:
        steps_are_events: whether threads may be switched before every access.

    Attributes:
        tracer: switches threads at opcodes; ``None`` if threads are not switched at opcodes.
        touch: reports an access of the virtual primitives themselves: :meth:`access` or :meth:`note`.
        steps_are_events: whether threads may be switched before every event; if not, accesses belong to the step that
            the last other event began.
        lets_die: whether objects may die in an execution (:mod:`~..weak_objects`).
        loading: whether modules are being imported. They may not start threads: these would exist in one execution.
        is_stuck: whether an execution was given up in a real wait; all further executions are then given up, too.
        live: whether events count: while threads are explored. trace: the events of the execution.
        left: number of events that the running thread may perform before the strategy is asked again, plus one.
        current: number of the running virtual thread; ``HUB`` for the harness itself.
        watched: ids of objects; a choice follows each of their events. asks_at_starts: a choice follows thread starts.
        actors: number -> thread; threads of the program come first. next_number: number of the next thread.
        program_actors: number of the program's threads. ident_gap: added to the identities of all other threads.
        now: the virtual time in seconds. tick: seconds per reading of the clock. polled: seconds of all readings.
        clock_reads: thread -> its readings since its last wait with a timeout. clock_seen: number of events they cover.
        timeouts_left: number of waits that may still time out although another thread could go on.
        ties_left: number of times that waits may still become due together; due waits may end in any order.
        timeouts, timeouts_withheld: see :class:`~..execution.Execution`; withheld if one of the two numbers was 0.
        ends_any_time: whether each wait may time out at any moment. was_patient: whether a patient wait blocked.
        failures: exceptions that ended threads of the target. preemptions: switches from a thread that could go on.
        equal_actors: threads with equal work. tells_identities: whether any thread has asked for its identity.
        proof_obstacles: why the execution is no part of a proof. is_choosing: whether the strategy runs, not a thread.
        is_patient: called when a timed wait begins: whether to never cut it short. longest: nor waits of such seconds.
        on_idle_start: called when the hub starts a thread. on_switch: called after each switch, for event loops.
        watcher: the threads' trace function if tracer is None. tolerance, haste: see :mod:`~.deadlines`.
    """

    def __init__(self, *, steps_are_events: bool = True) -> None:
        self.touch = self.access if steps_are_events else self.note
        self.steps_are_events = steps_are_events
        self.tracer: OpcodeTracer | None = None
        self.loading = self.is_stuck = self.live = self.aborting = self.lets_die = False
        self.left, self.clock_seen, self.current, self.equal_actors = 0, 0, HUB, NONE_EQUAL
        self.trace: Trace = []
        self.watched: Container[int] = ()
        self.actors: dict[int, VirtualThread] = {}
        self.now, self.polled, self.tick, self.longest, self.tolerance = 0.0, 0.0, TICK, inf, TOLERANCE
        self.timeouts_left = self.ties_left = self.ident_gap = 0
        self.clock_reads: dict[int, Readings] = {}
        self.timeouts_withheld, self.was_patient, self.ends_any_time, self.haste = "", False, False, Haste()
        self.asks_at_starts = self.tells_identities = self.is_choosing = self._is_watched = self._stopped = False
        self.failures: list[BaseException] = []
        self.proof_obstacles: dict[str, None] = {}
        self.timeouts: list[Timeout] = []
        self.is_patient: Callable[[], bool] = lambda: False
        self.on_idle_start: Callable[[], None] = lambda: None
        self.on_switch: Callable[[], None] | None = None
        self.watcher: Callable[[FrameType, str, Any], Any] | None = None
        self._choose: Callable[[int], int] = lambda _: self.stop()
        self._hub = greenlet.getcurrent()
        self._starter: greenlet.greenlet | None = None
        self._pool, self._own_idents = GreenletPool(self._serve), own_idents(lambda: self.current)
        self._abandoned: list[greenlet.greenlet] = []
        self._strategy_failure: BaseException | None = None
        self._aborted_events = self.program_actors = self.next_number = self.preemptions = 0

    def access(self, obj: object, slot: object, kind: int) -> None:
        """Report that the running thread is about to read (0) or write (1) ``slot`` of ``obj``."""
        if self.live:
            obj = weakly(obj) if self.lets_die else obj
            remaining = self.left = self.left - 1
            if remaining <= 0:
                self._pause((kind, obj, slot), None)
            self.trace.append((self.current, kind, obj, slot))
            if self.watched and id(obj) in self.watched:
                self.left = 0

    def note(self, obj: object, slot: object, kind: int) -> None:
        """Report an access like :meth:`access`, but without a choice: it belongs to the running step."""
        if self.live:
            trace = self.trace
            trace.append((self.current, kind, weakly(obj) if self.lets_die else obj, slot))
            if len(trace) > FOREVER:
                self.left = 0
                self.pause()

    def pause(self) -> None:
        """Begin a new step: the strategy may switch threads here, without an access."""
        if self.live:  # the same as :meth:`point`, but faster
            remaining = self.left = self.left - 1
            if remaining <= 0:
                self._pause((PAUSE, None, None), None)
            self.trace.append((self.current, PAUSE, None, None))

    def pause_in_tracer(self, code: CodeType, offset: int) -> None:
        """Ask the strategy, like :meth:`pause`, from the trace function; the caller has counted ``left`` down."""
        self._pause((PAUSE, code, offset), None, is_tracing=True)

    def step(self, obj: object, slot: object, kind: int) -> None:
        """Report an access like :meth:`note`, but as a step of its own."""
        self.pause()
        self.note(obj, slot, kind)

    def point(self, kind: int, obj: object, waits_for: Waitable | None) -> None:
        """Report an event of another ``kind`` at ``obj``; the thread first waits until ``waits_for`` is free."""
        remaining = self.left = self.left - 1
        if remaining <= 0 or not (waits_for is None or waits_for.free):
            self._pause((kind, obj, None), waits_for)
        if self.watched and id(obj) in self.watched:
            self.left = 0
        slot = None
        if kind == TRY:
            slot = obj.free  # type: ignore[attr-defined]
        elif kind == RELEASE:
            slot = not obj.free  # type: ignore[attr-defined]
        elif kind in (SPAWN, JOIN):
            has_started: bool = obj.started  # type: ignore[attr-defined]
            slot = has_started if kind == JOIN else None if has_started else self.next_number
        self.trace.append((self.current, kind, obj, slot))

    def point_when(self, pending: Pending, waits_for: Waitable, happens: Callable[[], Pending]) -> None:
        """Report an event that is known only when it happens; ``pending`` stands for it while the thread waits."""
        self._count(pending, waits_for, waits_for.free)
        self.trace.append((self.current, *happens()))

    def point_timed(self, obj: object, timed: Timed, event: Pending | None = None) -> bool:
        """Report a wait like :meth:`point`, or as ``event``, for a wait that may time out; return if it did not."""
        self._count(event or (TRY, obj, None), timed, timed.waitable.free)
        free = timed.waitable.free
        self.trace.append((self.current, *event) if event is not None else (self.current, TRY, obj, free))
        if timed.is_idle or not free:
            self._time_out(timed)
        return free

    def deadline(self, timeout: float) -> float:
        """Return the virtual time at which a wait that begins now times out; this reads the clock."""
        if timeout >= SHORTEST:
            self.clock_reads.pop(self.current, None)
        if self.live:
            self.touch(self, "now", READ)
        return self.now + timeout

    def wait_idle(self, kind: int, waitable: Waitable, deadline: float | None = None) -> bool:
        """Wait, outside an exploration, until ``waitable`` is free or ``deadline`` has come; return whether it is free.

        A wait of a target's thread may begin before an exploration and end in it; its event then has this ``kind``.

        Raises:
            SetupDeadlockError: no thread will ever free it.
            Aborted: the execution is being given up.
        """
        if self.aborting:
            raise Aborted
        waits_for = waitable if deadline is None else Timed(self, waitable, deadline)
        if self.current != HUB:
            thread = self.actors[self.current]
            thread.pending, thread.waits_for = (kind, waitable, None), waits_for
            self._to_hub()
            thread.waits_for, free = None, waitable.free
            if self.live:
                self.trace.append((self.current, kind, waitable, None if kind == ACQUIRE and free is True else free))
                if isinstance(waits_for, Timed) and not free:
                    self._time_out(waits_for)
            return free
        while not waitable.free:
            other = next((thread for thread in self.actors.values() if thread.enabled), None)
            if other is not None:
                self.run_idle(other)
            elif not let_time_pass(self, deadline):
                raise SetupDeadlockError("a call waits for something that never happens", waitable)
            elif deadline is not None and self.now >= deadline:
                break
        return waitable.free

    def settle(self) -> None:
        """Run the target's own threads, outside an exploration, until each of them waits."""
        while (waiting := next((thread for thread in self.actors.values() if thread.enabled), None)) is not None:
            self.run_idle(waiting)

    def start(self, work: Callable[[], object], number: int | None = None) -> int:
        """Start a virtual thread and return its number.

        During an exploration the thread runs to its first event at once, so that its next event is known. Otherwise
        it runs in :meth:`wait_idle` or :meth:`settle`.
        """
        if number is None:
            number, self.next_number = self.next_number, self.next_number + 1
        thread = self.actors[number] = VirtualThread(number, work)
        if self.live:
            caller, remaining, starter = self.current, self.left, self._starter
            self._starter = greenlet.getcurrent()
            self.current, self.left = number, 0
            self._enter(thread)
            self.current, self.left, self._starter = caller, 0 if self.asks_at_starts else remaining, starter
            self._trace_on()
        elif self.current == HUB:
            self.on_idle_start()
        return number

    @property
    def lets_time_pass(self) -> bool:
        """Whether time passes for sleeping threads while all other threads only poll."""
        return self.longest < inf

    def enabled(self) -> list[int]:
        """Return the numbers of the threads that can go on now; like ``VirtualThread.enabled``, but faster."""
        return [n for n, of in self.actors.items() if not of.finished and (of.waits_for is None or of.waits_for.free)]

    def next_timeouts(self) -> list[int]:
        """Return the threads whose waits time out next, by deadline: they go on if no other thread can."""
        return next_timeouts(self.actors, self.now, self.tolerance, self.haste.in_vain)

    def program_is_over(self) -> bool:
        """Whether all threads of the program have ended."""
        for number in range(self.program_actors):  # noqa: SIM110 (this runs at every choice)
            if not self.actors[number].finished:
                return False
        return True

    def explore(
        self, works: Sequence[Callable[[], object]], choose: Callable[[int], int], timeouts: int, ties: int = MOST_TIES
    ) -> None:
        """Run one thread for each of ``works`` until :meth:`stop` is called.

        Args:
            works: the functions that the threads of the program run.
            choose: ``choose(running)`` returns the number of the next thread, and sets ``left``.
            timeouts: number of waits that may time out although another thread could go on.
            ties: see :attr:`ties_left`.
        """
        self._hub = greenlet.getcurrent()
        self._choose, self._stopped, self._strategy_failure = choose, False, None
        self.timeouts_left, self.ties_left = (FOREVER, 0) if self.ends_any_time else (timeouts, ties)
        self.left, self.watched = 0, ()
        before, self._is_watched = sys.gettrace(), self.watcher is not None
        with NoCollections(), self._own_idents, self._traced():
            self.live = True
            try:
                for number, work in enumerate(works):
                    self.start(work, number)
                following = self._after_choice(HUB)
                if following is not self._hub:
                    following.switch()
            finally:
                self.live = False
                self.timeouts_left = self.ties_left = 0
                self.current = HUB
                if self._is_watched:
                    sys.settrace(before)
        self.raise_failure()

    def stop(self) -> int:
        """End the execution; a strategy returns the result of this call instead of the number of a thread."""
        self._stopped = True
        return HUB

    def give_up(self, failure: BaseException) -> None:
        """End the execution with ``failure``, which its threads do not see; the calling thread waits to be unwound."""
        self._strategy_failure, self._stopped = failure, True
        if self.current != HUB:
            self._hub.switch()

    def raise_failure(self) -> None:
        """Raise the failure with which an execution was given up, if there is one."""
        if self._strategy_failure is not None:
            raise self._strategy_failure

    def reset(self, program_actors: int = 0) -> None:
        """Unwind the threads of the last execution, forget them, and prepare for ``program_actors`` threads."""
        self.live = False
        trace, self.trace = self.trace, []  # events during unwinding are no part of the execution
        if unfinished := [thread for thread in self.actors.values() if not thread.finished]:
            self._abort(unfinished)
        self.actors.clear()
        self._pool.fill(program_actors + _SPARE_GREENLETS)
        restore_locks(trace)
        self.trace, self.failures, self.proof_obstacles, self.timeouts = [], [], {}, []
        self._strategy_failure = self._strategy_failure if self.is_stuck else None
        self.preemptions, self.clock_reads, self.clock_seen, self.now, self.polled = 0, {}, 0, 0.0, 0.0
        self.haste.start_over()
        self.timeouts_withheld, self.was_patient, self.asks_at_starts, self.tells_identities = "", False, False, False
        self.equal_actors = NONE_EQUAL
        self.program_actors = self.next_number = program_actors
        namespaces.clear()
        start_over(are_used=self.lets_die)

    def _trace_on(self) -> None:
        """Turn tracing on after a switch: the greenlet that ran before may have been in a trace function."""
        if self.on_switch is not None:
            self.on_switch()
        if self.tracer is not None and not self.aborting:
            self.tracer.enter()
        elif self._is_watched and self.live and not self.aborting:
            sys.settrace(self.watcher)

    def _traced(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if self.tracer is None else self.tracer.installed()

    def _serve(self, maker: greenlet.greenlet) -> None:
        """Run the work of one thread after another: the function of a pooled greenlet."""
        thread = self._awaited(maker)
        del maker
        while True:
            try:
                self._trace_on()
                if not self.steps_are_events:
                    self.pause()  # otherwise its first accesses would belong to the step of the thread that starts it
                thread.work()
            except Aborted:
                pass
            except BaseException as error:
                if not self.aborting:
                    self.failures.append(error)
            # Drop the references to objects of the target: they must not die, and be finalized, during the next
            # execution. Finalizers here still run as part of this thread: it may be preempted in them.
            thread.work, thread.handled, thread.last_sleep = object, None, None
            thread.finished = True
            thread.greenlet = thread.pending = thread.waits_for = None
            thread = self._finish()

    def _finish(self) -> VirtualThread:
        """Give the greenlet of the ended thread back to the pool; return the next thread that it serves."""
        self._pool.give_back(greenlet.getcurrent())
        if self._starter is not None:
            following, self._starter = self._starter, None
        elif self.aborting or not self.live:
            following = self._hub
        else:
            following = self._after_choice(self.current)
        return self._awaited(following)

    def _awaited(self, following: greenlet.greenlet) -> VirtualThread:
        """Switch to ``following``; return the next thread that the now idle greenlet has to serve."""
        while True:
            try:
                thread: VirtualThread = following.switch()
                return thread
            except Aborted:  # thrown before the thread has begun
                following = self._hub

    def _count(self, pending: Pending, waits_for: Waitable, is_free: bool) -> None:
        remaining = self.left = self.left - 1
        if remaining <= 0 or not is_free:
            self._pause(pending, waits_for)

    def _pause(self, pending: Pending, waits_for: Waitable | None, *, is_tracing: bool = False) -> None:
        if self.aborting:
            self._abort_again()
            return
        thread = self.actors[self.current]
        thread.pending, thread.waits_for, thread.handled = pending, waits_for, sys.exception()
        if self._starter is not None:
            following, self._starter = self._starter, None
        else:
            following = self._after_choice(thread.number)
        if following is not thread.greenlet:
            if is_tracing:
                sys.call_tracing(following.switch, ())
                (self.on_switch or bool)()
            else:
                following.switch()
                self._trace_on()
        thread.waits_for = thread.handled = None  # a reference to the exception must not keep it alive

    def _after_choice(self, running: int) -> greenlet.greenlet:
        """Return the greenlet of the thread that the strategy chooses; the hub's greenlet if the execution is over."""
        if self._stopped:
            return self._hub
        if self.haste.in_vain and running not in self.haste.in_vain:
            self.haste.in_vain.clear()
        chosen, limit = HUB, sys.getrecursionlimit()
        sys.setrecursionlimit(limit)  # raises RecursionError if the limit could not be lowered again at this depth
        sys.setrecursionlimit(limit + _ROOM_TO_CHOOSE)
        if (tracer := self.tracer) is not None:
            tracer.pauses += 1
        try:
            self.is_choosing = True
            chosen = self._choose(running)
        except BaseException as error:  # threads must not see it
            self._strategy_failure = error
            self._stopped = True
        finally:
            self.is_choosing = False
            if tracer is not None:
                tracer.pauses -= 1
            sys.setrecursionlimit(limit)
        if self._stopped:
            return self._hub
        if chosen != running and running != HUB and self.actors[running].enabled:
            self.preemptions += 1
        self.current = chosen
        following = self.actors[chosen].greenlet
        assert following is not None, "a strategy chose a thread that has ended"
        return following

    def _time_out(self, wait: Timed) -> None:
        wait.count_cut()
        let_end_together(self, wait)  # before the write: from here on, any of these waits may end first
        # The clock is shared: a write, so that the search also tries earlier readings and waits after this timeout.
        self.touch(self, "now", WRITE)
        self.now = max(self.now, wait.deadline)

    def _to_hub(self) -> None:
        if self._starter is not None:
            starter, self._starter = self._starter, None
            starter.switch()
        else:
            self._hub.switch()
        if self.aborting:
            raise Aborted
        self._trace_on()

    def run_idle(self, thread: VirtualThread) -> None:
        """Run a thread, outside an exploration, until it waits."""
        self._hub = greenlet.getcurrent()
        self.current = thread.number
        with NoCollections(), self._own_idents, self._traced():
            if thread.greenlet is None:
                self._enter(thread)
            else:
                thread.greenlet.switch()
        self.current = HUB
        self.raise_failure()

    def _enter(self, thread: VirtualThread) -> None:
        thread.greenlet = self._pool.take()
        thread.greenlet.switch(thread)

    def _abort(self, threads: list[VirtualThread]) -> None:
        self._hub = greenlet.getcurrent()
        self.aborting = True
        with unnoticed(), contextlib.ExitStack() as then:
            then.callback(setattr, self, "aborting", False)
            for thread in threads:
                if (running := thread.greenlet) is None or thread.finished:
                    continue
                self.live, self.left, self._aborted_events, self._starter = True, 0, 0, None
                self.current = thread.number
                (self.on_switch or bool)()
                running.throw(Aborted)
                self.live, self.current = False, HUB
                if not thread.finished:
                    self._abandoned.append(running)  # it did not end; without a reference it would be aborted again
                    thread.finished = True

    def _abort_again(self) -> None:
        """Let an aborted thread clean up, but not go on forever: after some events, abort it again, then suspend it."""
        self._aborted_events += 1
        if self._aborted_events < _ABORTED_EVENTS or greenlet.getcurrent() is self._hub:
            return  # in the hub, an object is finalized that has died with the thread
        if self._aborted_events < _ABORTED_EVENTS + _SWALLOWED_ABORTS:
            raise Aborted
        while True:
            self._hub.switch()
