"""Deadlines: the waits that end as virtual time passes, and the order in which they end.

The virtual clock is exact, the clock of real threads is not: if two threads sleep for one second, either may wake
first, and the second may wake before the first has done anything. So waits with about the same deadline may end in any
order, and together.

A short wait may also end while other threads can go on: these threads are slow. Code that reads the clock then sees
that time has passed. So a test fails if it asserts how long something takes; it would also fail on a machine that
freezes for a while. Such an execution is *hurried*. It is no proof of a race: see :func:`~..counterexample.replayed`
and :func:`~..investigation.investigate`.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from threading import Condition
from types import FrameType
from typing import TYPE_CHECKING, Final

from ...engine.execution import HiddenTime, Timeout
from .virtual_thread import Timed, VirtualThread

if TYPE_CHECKING:
    from .scheduler import Scheduler

TOLERANCE: Final = 0.05
"""Seconds: two waits whose deadlines differ by at most this much may end in any order.

No program can rely on a smaller difference: a busy machine wakes a thread that late, and a woken thread may be
interrupted for several switch intervals (5 ms each in CPython) before it does anything.
"""

SHORTEST: Final = 0.001
"""Seconds. A wait with a shorter timeout is polling; the time that it takes does not count."""

MOST_TIES: Final = 4
"""Number of times in one execution that waits may end together: each doubles the interleavings of polling threads."""


@dataclass
class Haste:
    """Time that has passed while threads could go on: these threads were slow.

    Attributes:
        hides: the part of this time that is hidden from threads that read the clock.
        where: place of the first wait that ended while threads could go on.
        observation: ``FILE:LINE: what``, if code has read the clock after that wait; else empty.
        behind: thread -> the seconds that have passed while the thread could go on.
        seconds: the seconds that have passed while any thread could go on.
        idle: place of a sleep in a polling loop whose needless wake-ups were left out; see :mod:`~.polling`.
        locks: ids of the locks that such loops take.
        in_vain: numbers of the threads that sleep in such loops, and have looked since any thread has done anything
            else; ``~number`` of a thread that is looking.
    """

    hides: HiddenTime = HiddenTime.NOTHING
    where: str = ""
    observation: str = ""
    behind: dict[int, float] = field(default_factory=dict)
    seconds: float = 0.0
    idle: str = ""
    locks: set[int] = field(default_factory=set)
    in_vain: set[int] = field(default_factory=set)

    def start_over(self) -> None:
        """Reset the times for a new execution."""
        self.where = self.observation = self.idle = ""
        self.behind, self.seconds = {}, 0.0
        self.locks.clear()
        self.in_vain.clear()

    def add(self, seconds: float, threads: Sequence[int], where: str) -> None:
        """Record that ``seconds`` pass while ``threads`` can go on, because the wait at ``where`` ends."""
        if threads:
            self.where = self.where or where
            self.seconds += seconds
        for thread in threads:
            self.behind[thread] = self.behind.get(thread, 0.0) + seconds

    def hidden(self, thread: int) -> float:
        """Return the seconds that are subtracted from the clock when ``thread`` reads it."""
        if self.hides is HiddenTime.NOTHING:
            return 0.0
        return self.behind.get(thread, 0.0) if self.hides is HiddenTime.OWN else self.seconds


def next_timeouts(
    threads: Mapping[int, VirtualThread], now: float, tolerance: float = TOLERANCE, in_vain: Container[int] = ()
) -> list[int]:
    """Return the threads whose waits end next, within ``tolerance`` of the first deadline; sorted by deadline.

    Threads ``in_vain`` are not among them: they would find what they have found before.
    """
    timed = sorted(
        (thread.waits_for.deadline, number)
        for number, thread in threads.items()
        if not thread.finished and isinstance(thread.waits_for, Timed) and number not in in_vain
    )
    return [number for deadline, number in timed if deadline <= max(timed[0][0] + tolerance, now)]


def let_end_together(scheduler: Scheduler, ended: Timed) -> None:
    """Record that the running thread's wait has timed out. Mark the waits with about the same deadline as due."""
    others = [thread for number, thread in scheduler.actors.items() if number != scheduler.current]
    is_early = ended.is_early or (not ended.is_due and any(map(_can_go_on, others)))
    seconds = ended.deadline - scheduler.now
    if seconds >= SHORTEST and scheduler.longest < inf:
        left_behind = [thread.number for thread in others if _can_go_on(thread) or _is_late(thread, ended.deadline)]
        scheduler.haste.add(seconds, left_behind, ended.where)
    moment = max(ended.deadline, scheduler.now)
    scheduler.timeouts.append(Timeout(scheduler.current, len(scheduler.trace), _waiters(), is_early, moment))
    latest = moment + scheduler.tolerance
    waits = (thread.waits_for for thread in others if not thread.finished)
    timed = (wait for wait in waits if isinstance(wait, Timed) and not (wait.is_due or wait.is_idle))
    ending = [wait for wait in timed if wait.deadline <= latest]
    if ending and not scheduler.ties_left:
        withheld = (wait.where for wait in ending if not wait.free)
        scheduler.timeouts_withheld = next(withheld, scheduler.timeouts_withheld)
    elif ending:
        scheduler.ties_left -= 1
        for wait in ending:
            wait.is_due, wait.is_early = True, is_early


def _waiters() -> object:
    """Return the waiter queue of the condition on which the running thread waits; ``None`` if it waits on none.

    The thread removes itself from this queue.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        # The virtual `threading` is a second copy of the module, so its functions are not `Condition.wait` itself.
        if frame.f_code.co_name == Condition.wait.__name__ and frame.f_globals.get("__name__") == Condition.__module__:
            waiters: object = getattr(frame.f_locals.get("self"), "_waiters", None)
            if waiters is not None:
                return waiters
        frame = frame.f_back
    return None


def _can_go_on(thread: VirtualThread) -> bool:
    """Whether a thread can go on if no time passes. The running thread's wait is not free, so it cannot."""
    wait = thread.waits_for
    if isinstance(wait, Timed):
        return not thread.finished and (wait.is_due or wait.waitable.free)
    return thread.enabled


def _is_late(thread: VirtualThread, now: float) -> bool:
    """Whether the deadline of a thread's wait was at least :data:`SHORTEST` seconds ago."""
    wait = thread.waits_for
    return not thread.finished and isinstance(wait, Timed) and wait.deadline + SHORTEST <= now


def let_time_pass(scheduler: Scheduler, deadline: float | None) -> bool:
    """Move the clock to the first deadline, and run the threads whose waits end then. Return whether a deadline exists.

    This is called outside an exploration if no thread can go on. ``deadline`` is the hub's; ``None`` if it has none.
    """
    waits = [(thread, thread.waits_for) for thread in scheduler.actors.values()]
    timed = [(thread, wait) for thread, wait in waits if isinstance(wait, Timed)]
    deadlines = [wait.deadline for _, wait in timed]
    if deadline is not None:
        deadlines.append(deadline)
    if not deadlines:
        return False
    scheduler.now = max(scheduler.now, min(deadlines))
    for thread, wait in timed:
        if thread.waits_for is wait and wait.deadline <= scheduler.now:
            scheduler.run_idle(thread)
    return True
