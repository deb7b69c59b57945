"""Virtual threads: greenlets in one OS thread, of which exactly one runs until a strategy says otherwise.

Before each visible event a virtual thread comes to :meth:`Scheduler.point`. Most of the time it goes straight on: the
strategy has allowed it a number of events, and a counter is all that is looked at. Otherwise it notes what it is about
to do, and the strategy chooses who is next.

Outside an exploration - while an Indexer is made, filled and read back - the hub (the greenlet of the harness) does the
work. If it has to wait, the target's own threads run until it need not.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Container, Sequence
from typing import Final

import greenlet

from ..events import PAUSE, READ, RELEASE, SPAWN, TRY, WRITE, Pending, Trace
from .unwinding import ignore_aborted, restore_locks
from .virtual_thread import Aborted, SetupDeadlockError, Timed, VirtualThread, Waitable

HUB: Final = -1
MOST_PROGRAM_THREADS: Final = 8

FOREVER: Final = 50_000
"""More events than an execution may have: whoever gets that far without a choice spins, and the strategy is asked."""
_SPARE_GREENLETS = 4
_ROOM_TO_CHOOSE = 100
"""Frames that a strategy may need above a thread that has used up its own."""
_ABORTED_EVENTS = 200
"""How many events an aborted thread may still do, to clean up, before it is aborted again."""
_SWALLOWED_ABORTS = 20


class Scheduler:
    """The virtual threads of one OS thread. Not re-entrant: one execution at a time.

    Args:
        steps_are_events: whether threads may be switched before every access.

    Attributes:
        touch: reports an access of the virtual primitives themselves: :meth:`access` or :meth:`note`.
        steps_are_events: whether threads may be switched before every event; if not, accesses belong to the step that
            the last other event began.
        live: whether events count: true while a program's threads are explored.
        left: how many further events the running thread may do before the strategy is asked again, plus one.
        current: number of the running virtual thread; ``HUB`` for the harness itself.
        trace: the events of the execution.
        watched: ids of objects whose events are followed by a choice, however many were allowed.
        threads: number -> thread; those of the program have the first numbers.
        program_threads: how many threads the program has.
        now: the virtual time, in seconds.
        clock_reads: how often the target has asked for it since it last passed.
        timeouts_left: how many waits may still time out although something else could happen.
        timeouts_withheld: whether a wait would have been allowed to time out, had there been more of these.
        preemptions: how often a thread was left that could have gone on.
        failures: what escaped from threads that the target started.
    """

    def __init__(self, *, steps_are_events: bool = True) -> None:
        self.touch = self.access if steps_are_events else self.note
        self.steps_are_events = steps_are_events
        self.live = False
        self.aborting = False
        self.left = 0
        self.current = HUB
        self.trace: Trace = []
        self.watched: Container[int] = ()
        self.threads: dict[int, VirtualThread] = {}
        self.now = 0.0
        self.clock_reads = 0
        self.timeouts_left = 0
        self.timeouts_withheld = False
        self.preemptions = 0
        self.failures: list[BaseException] = []
        self._choose: Callable[[int], int] = _no_choice
        self._hub: greenlet.greenlet | None = None
        self._starter: greenlet.greenlet | None = None
        self._pool: list[greenlet.greenlet] = []
        self._abandoned: list[greenlet.greenlet] = []
        self._made_on_the_way: list[greenlet.greenlet] = []
        self._stopped = False
        self._strategy_failure: BaseException | None = None
        self._aborted_events = 0
        self.program_threads = 0
        self._next_number = 0

    # What running threads call.

    def access(self, obj: object, slot: object, kind: int) -> None:
        """The running thread is about to read (0) or write (1) ``slot`` of ``obj``."""
        if self.live:
            left = self.left = self.left - 1
            if left <= 0:
                self._pause((kind, obj, slot), None)
            self.trace.append((self.current, kind, obj, slot))
            if self.watched and id(obj) in self.watched:
                self.left = 0

    def note(self, obj: object, slot: object, kind: int) -> None:
        """As :meth:`access`, where accesses are no occasion to switch: it belongs to the running step."""
        if self.live:
            trace = self.trace
            trace.append((self.current, kind, obj, slot))
            if len(trace) > FOREVER:
                self.left = 0
                self.pause()

    def pause(self) -> None:
        """An occasion to switch without an access of its own: a new step begins."""
        if self.live:
            self.point(PAUSE, None, None)

    def step(self, obj: object, slot: object, kind: int) -> None:
        """As :meth:`note`, for an access that is a step of its own."""
        self.pause()
        self.note(obj, slot, kind)

    def point(self, kind: int, obj: object, waits_for: Waitable | None) -> None:
        """The running thread is about to do something else to ``obj``, as soon as ``waits_for`` is free."""
        left = self.left = self.left - 1
        if left <= 0 or not (waits_for is None or waits_for.free):
            self._pause((kind, obj, None), waits_for)
        if self.watched and id(obj) in self.watched:
            self.left = 0
        slot = None
        if kind == TRY:
            slot = obj.free  # type: ignore[attr-defined]
        elif kind == RELEASE:
            slot = not obj.free  # type: ignore[attr-defined]
        elif kind == SPAWN:
            slot = self._next_number
        self.trace.append((self.current, kind, obj, slot))

    def point_timed(self, obj: object, timed: Timed) -> bool:
        """As :meth:`point`, for a wait that may also time out; returns whether it did not."""
        left = self.left = self.left - 1
        if left <= 0 or not timed.waitable.free:
            self._pause((TRY, obj, None), timed)
        free = timed.waitable.free
        self.trace.append((self.current, TRY, obj, free))
        if not free:
            self._time_out(timed)
        return free

    def deadline(self, timeout: float) -> float:
        """When a wait with a timeout that begins now is to end; this reads the clock."""
        if self.live:
            self.touch(self, "now", READ)
        return self.now + timeout

    def wait_idle(self, kind: int, waitable: Waitable, deadline: float | None = None) -> bool:
        """Outside an exploration: come back when ``waitable`` is free or the virtual time is ``deadline``.

        A thread of the target may wait here from before an exploration into it; ``kind`` is what it then does.

        Raises:
            SetupDeadlockError: nobody will ever free it.
            Aborted: the execution is being given up.
        """
        if self.aborting:
            raise Aborted
        waits_for = waitable if deadline is None else Timed(self, waitable, deadline)
        if self.current != HUB:
            thread = self.threads[self.current]
            thread.pending, thread.waits_for = (kind, waitable, None), waits_for
            self._to_hub()
            thread.waits_for = None
            free = waitable.free
            if self.live:
                self.trace.append((self.current, kind, waitable, free if kind == TRY else None))
                if isinstance(waits_for, Timed) and not free:
                    self._time_out(waits_for)
            return free
        while not waitable.free:
            other = next((thread for thread in self.threads.values() if thread.enabled), None)
            if other is not None:
                self._run_idle(other)
            elif not self._let_time_pass(deadline):
                raise SetupDeadlockError("a call waits for something that nothing will ever bring about")
            elif deadline is not None and self.now >= deadline:
                break
        return waitable.free

    def settle(self) -> None:
        """Outside an exploration: run the target's own threads until each of them waits."""
        while (waiting := next((thread for thread in self.threads.values() if thread.enabled), None)) is not None:
            self._run_idle(waiting)

    def start(self, work: Callable[[], object], number: int | None = None) -> int:
        """Start a virtual thread and return its number.

        During an exploration it runs to its first event at once, so that what it does next is known. Otherwise it
        waits for :meth:`wait_idle` or :meth:`settle`.
        """
        if number is None:
            number, self._next_number = self._next_number, self._next_number + 1
        thread = self.threads[number] = VirtualThread(number, work)
        if self.live:
            caller, left = self.current, self.left
            self._starter = greenlet.getcurrent()
            self.current, self.left = number, 0
            self._enter(thread)
            self.current, self.left = caller, left
        return number

    def enabled(self) -> list[int]:
        """The threads that can go on now."""
        return [
            number
            for number, thread in self.threads.items()
            if not thread.finished and (thread.waits_for is None or thread.waits_for.free)
        ]

    def next_timeouts(self) -> list[int]:
        """The threads whose timeout is the next to end: who goes on when nobody else can."""
        timed = [
            (thread.waits_for.deadline, number)
            for number, thread in self.threads.items()
            if not thread.finished and isinstance(thread.waits_for, Timed)
        ]
        first = min((deadline for deadline, _ in timed), default=0.0)
        return [number for deadline, number in timed if deadline <= max(first, self.now)]

    def program_is_over(self) -> bool:
        """Whether all threads of the program have ended."""
        threads = self.threads
        for number in range(self.program_threads):  # noqa: SIM110 (this is asked at every choice)
            if not threads[number].finished:
                return False
        return True

    # What the harness calls.

    def explore(self, works: Sequence[Callable[[], object]], choose: Callable[[int], int], timeouts: int) -> None:
        """Run one thread for each of ``works`` until :meth:`stop` is called.

        Args:
            works: what the threads of the program do.
            choose: ``choose(running)`` says who is next, and sets ``left`` to how many events it may do.
            timeouts: how many waits may time out although something else could happen.
        """
        self._hub = greenlet.getcurrent()
        self._choose = choose
        self._stopped = False
        self._strategy_failure = None
        self.timeouts_left = timeouts
        self.left = 0
        self.watched = ()
        self.live = True
        try:
            for number, work in enumerate(works):
                self.start(work, number)
            following = self._after_choice(HUB)
            if following is not self._hub:
                following.switch()
        finally:
            self.live = False
            self.timeouts_left = 0
            self.current = HUB
        if self._strategy_failure is not None:
            raise self._strategy_failure

    def stop(self) -> int:
        """Called by a strategy instead of naming a thread: the execution is over."""
        self._stopped = True
        return HUB

    def reset(self, program_threads: int = 0) -> None:
        """Unwind what is left of an execution, forget its threads, and get ready for a program with that many."""
        self.live = False
        trace, self.trace = self.trace, []  # what threads do while they are unwound is no part of the execution
        left_over = [thread for thread in self.threads.values() if not thread.finished]
        if left_over:
            self._abort(left_over)
        self.threads.clear()
        self._fill_pool(program_threads + _SPARE_GREENLETS)
        restore_locks(trace)
        self.trace = []
        self.failures = []
        self.preemptions = 0
        self.now = 0.0
        self.clock_reads = 0
        self.timeouts_withheld = False
        self.program_threads = self._next_number = program_threads

    # Inside.

    def _fill_pool(self, count: int) -> None:
        """Make greenlets here, where the stack is low, and let go of those that were made deep in some recursion."""
        if self._made_on_the_way:
            self._pool = [made for made in self._pool if made not in self._made_on_the_way]
            self._made_on_the_way.clear()
        while len(self._pool) < count:
            self._pool.append(self._make_greenlet())

    def _make_greenlet(self) -> greenlet.greenlet:
        """One that is ready to serve. It has as many frames left as whoever makes it."""
        made = greenlet.greenlet(self._serve)
        made.switch(greenlet.getcurrent())
        return made

    def _serve(self, maker: greenlet.greenlet) -> None:
        """A pooled greenlet: does the work of one thread after another."""
        thread: VirtualThread = maker.switch()
        del maker
        while True:
            try:
                if not self.steps_are_events:
                    self.pause()  # else what comes before its first event would be part of whoever starts it
                thread.work()
            except Aborted:
                pass
            except BaseException as error:
                if not self.aborting:
                    self.failures.append(error)
            thread.finished = True
            # Let go of what the target made: it must not die, and finalize, in the midst of the next execution.
            thread.greenlet, thread.work, thread.pending, thread.waits_for = None, _nothing, None, None
            thread.handled = None
            thread = self._finish()

    def _finish(self) -> VirtualThread:
        """The running thread is done; returns the next one that its greenlet is to serve."""
        own = greenlet.getcurrent()
        self._pool.append(own)
        if self._starter is not None:
            following, self._starter = self._starter, None
        elif self.aborting or not self.live:
            following = self._hub_greenlet()
        else:
            following = self._after_choice(self.current)
        given: VirtualThread = following.switch()
        return given

    def _pause(self, pending: Pending, waits_for: Waitable | None) -> None:
        if self.aborting:
            self._abort_again()
            return
        thread = self.threads[self.current]
        thread.pending, thread.waits_for, thread.handled = pending, waits_for, sys.exception()
        if self._starter is not None:
            starter, self._starter = self._starter, None
            starter.switch()
        else:
            following = self._after_choice(thread.number)
            if following is not thread.greenlet:
                following.switch()
        thread.waits_for = None

    def _after_choice(self, running: int) -> greenlet.greenlet:
        """The greenlet that the strategy wants to run next; the hub's if the execution is over."""
        chosen = HUB
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + _ROOM_TO_CHOOSE)
        try:
            chosen = self._choose(running)
        except BaseException as error:  # nothing that the threads should see
            self._strategy_failure = error
            self._stopped = True
        finally:
            sys.setrecursionlimit(limit)
        if self._stopped:
            return self._hub_greenlet()
        if chosen != running and running != HUB and self.threads[running].enabled:
            self.preemptions += 1
        self.current = chosen
        following = self.threads[chosen].greenlet
        assert following is not None, "a strategy chose a thread that has ended"
        return following

    def _time_out(self, wait: Timed) -> None:
        if self.timeouts_left > 0:
            self.timeouts_left -= 1
        # The clock is shared: who read it before, or began a wait, is to be tried after this too.
        self.touch(self, "now", WRITE)
        self.now = max(self.now, wait.deadline)
        self.clock_reads = 0

    def _hub_greenlet(self) -> greenlet.greenlet:
        assert self._hub is not None
        return self._hub

    def _to_hub(self) -> None:
        if self._starter is not None:
            starter, self._starter = self._starter, None
            starter.switch()
        else:
            self._hub_greenlet().switch()
        if self.aborting:
            raise Aborted

    def _run_idle(self, thread: VirtualThread) -> None:
        self._hub = greenlet.getcurrent()
        self.current = thread.number
        if thread.greenlet is None:
            self._enter(thread)
        else:
            thread.greenlet.switch()
        self.current = HUB

    def _enter(self, thread: VirtualThread) -> None:
        """Begin the work of a thread."""
        if self._pool:
            thread.greenlet = self._pool.pop()
        else:
            thread.greenlet = self._make_greenlet()
            self._made_on_the_way.append(thread.greenlet)
        thread.greenlet.switch(thread)

    def _let_time_pass(self, deadline: float | None) -> bool:
        """Nobody can go on: move the clock to the first deadline. Whether there was one."""
        timed = [thread for thread in self.threads.values() if isinstance(thread.waits_for, Timed)]
        deadlines = [thread.waits_for.deadline for thread in timed if isinstance(thread.waits_for, Timed)]
        if deadline is not None:
            deadlines.append(deadline)
        if not deadlines:
            return False
        self.now = max(self.now, min(deadlines))
        self.clock_reads = 0
        for thread in timed:
            if isinstance(thread.waits_for, Timed) and thread.waits_for.deadline <= self.now:
                self._run_idle(thread)
        return True

    def _abort(self, threads: list[VirtualThread]) -> None:
        self._hub = greenlet.getcurrent()
        self.aborting = True
        # Code that logs whatever it catches, as thread pools do, is not to log this.
        logged, logging.root.manager.disable = logging.root.manager.disable, logging.CRITICAL
        hook, sys.unraisablehook = sys.unraisablehook, ignore_aborted(sys.unraisablehook)
        try:
            for thread in threads:
                running = thread.greenlet
                if running is None or thread.finished:
                    continue
                self.live, self.left, self._aborted_events, self._starter = True, 0, 0, None
                self.current = thread.number
                running.throw(Aborted)
                self.live = False
                self.current = HUB
                if not thread.finished:
                    self._abandoned.append(running)  # it refused to end; let go, it would be aborted again
                    thread.finished = True
        finally:
            sys.unraisablehook = hook
            logging.root.manager.disable = logged
            self.aborting = False

    def _abort_again(self) -> None:
        """An aborted thread does further events: let it clean up, but not go on for ever."""
        self._aborted_events += 1
        if self._aborted_events < _ABORTED_EVENTS:
            return
        if self._aborted_events < _ABORTED_EVENTS + _SWALLOWED_ABORTS:
            raise Aborted
        while True:
            self._hub_greenlet().switch()


def _nothing() -> None:
    return None


def _no_choice(_: int) -> int:
    raise AssertionError("no strategy is at work")
