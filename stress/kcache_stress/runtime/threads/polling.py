"""Loops that sleep until another thread has changed something: ``while not done: time.sleep(0.01)``.

Such a thread may wake at any moment, so there is no last execution: after each wake-up it finds what it has found
before, and sleeps again. But if nothing that it has read has changed, it is in the state in which it was, and what it
does next it has done before. So these wake-ups are left out: the thread waits until another thread has changed a place
that it has read since it began to wait. Its wake-up reads these places, so the search knows that the change comes
first. If no other thread can go on, nothing changes any more, and the thread asks for ever: that is a deadlock. If
anyone reads the clock later, it is no proof: each sleep takes time.

This is done for plain loops only (:mod:`.plain_loops`), because the trace does not show that an iteration has no
effect: a context variable, an iterator or a socket changes without an event, and ids of objects are used again.

Prior art. The spin loops of GenMC (M. Kokologiannakis, X. Ren, V. Vafeiadis: Dynamic Partial Order Reductions for
Spinloops, 2021) are blocked in the same way; there, too, the source is looked at. The alternative is a limit on the
number of early wake-ups, which is no proof. It holds for all other waits.

Open questions. A loop that calls ``thread.is_alive()`` is not plain, nor is one that waits with a timeout or looks at
the clock.
"""

from __future__ import annotations

from types import FrameType
from typing import TYPE_CHECKING, Final

from ...engine.events import (
    ACQUIRE,
    PAUSE,
    QUERY,
    READ,
    RELEASE,
    TRY,
    AtomicAccesses,
    Channel,
    Pending,
    UnknownAccess,
    are_dependent,
)
from .plain_loops import is_plain_poll

if TYPE_CHECKING:
    from .scheduler import Scheduler

_HARMLESS: Final = frozenset({READ, PAUSE, ACQUIRE, RELEASE})
"""Kinds of events of an iteration without effect: the locks that it takes, it releases."""


class Sleep:
    """A sleep in a plain loop.

    Attributes:
        frame: the frame that sleeps. It is kept, so that no other frame can be taken for it.
        end: length of the trace when the sleep had ended.
    """

    __slots__ = ("end", "frame")

    def __init__(self, frame: FrameType) -> None:
        self.frame = frame
        self.end = 0


class Changed:
    """The condition that another thread has changed what a thread has read in the last iteration of its loop.

    Args:
        scheduler: of the thread.
        reads: place -> position in the trace at which the thread has read it first.
    """

    what: Final = "a change of what its loop reads"

    def __init__(self, scheduler: Scheduler, reads: dict[tuple[int, int], int]) -> None:
        self._scheduler = scheduler
        self._thread = scheduler.current
        self._reads = [(at, scheduler.trace[at][1:]) for at in reads.values()]
        self._position = min(reads.values(), default=len(scheduler.trace))
        self._is_over = False

    @property
    def event(self) -> Pending | None:
        """The event of the end of the wait, which reads all places again; ``None`` if nothing is read."""
        if not self._reads:
            return None
        one = AtomicAccesses(tuple(read for _, read in self._reads))
        return READ, one, one

    @property
    def free(self) -> bool:
        """Whether another thread has changed anything that was read."""
        trace = self._scheduler.trace
        while not self._is_over and self._position < len(trace):
            at, self._position = self._position, self._position + 1
            event = trace[at]
            if event[0] != self._thread:
                self._is_over = any(position < at and are_dependent(read, event) for position, read in self._reads)
        return self._is_over


def unchanged_since(scheduler: Scheduler, frame: FrameType | None) -> Changed | None:
    """Return what the running thread waits for if it sleeps again in a plain loop; ``None`` if that is not known.

    The thread looks in vain if no other thread has run since it woke up. Then no timeout wakes it until one has run.

    Args:
        scheduler: of the running thread.
        frame: the frame that sleeps.
    """
    number, in_vain = scheduler.current, scheduler.haste.in_vain
    thread = scheduler.actors[number]
    before, thread.last_sleep = thread.last_sleep, None
    changed, is_again = None, False
    # If objects may die, the frame that is kept here would delay that.
    if frame is not None and not scheduler.lets_die and is_plain_poll(frame):
        thread.last_sleep = Sleep(frame)
        if before is not None and before.frame is frame:
            # Without instrumentation, no reads are recorded.
            changed = None if scheduler.tracer is not None else _iteration(scheduler, before.end)
            is_again = changed is not None or scheduler.tracer is not None
    if is_again and ~number in in_vain:
        in_vain.add(number)
    else:
        in_vain.clear()
    return changed


def slept(scheduler: Scheduler) -> None:
    """Record that a sleep of the running thread has ended."""
    number, in_vain = scheduler.current, scheduler.haste.in_vain
    in_vain.discard(number)
    sleep = scheduler.actors[number].last_sleep
    if sleep is not None:
        sleep.end = len(scheduler.trace)
        in_vain.add(~number)


def _iteration(scheduler: Scheduler, begin: int) -> Changed | None:
    """Return the condition that ends a wait after an iteration; ``None`` if it did anything but read known places."""
    reads: dict[tuple[int, int], int] = {}
    locks: set[int] = set()
    for at in range(begin, len(scheduler.trace)):
        thread, kind, obj, slot = scheduler.trace[at]
        if thread != scheduler.current:
            continue
        if kind not in _HARMLESS or type(slot) in (AtomicAccesses, UnknownAccess) or issubclass(type(obj), Channel):
            return None
        if kind == READ:
            reads.setdefault((id(obj), id(slot)), at)
        elif kind == ACQUIRE:
            locks.add(id(obj))
    scheduler.haste.locks |= locks
    return Changed(scheduler, reads)


def missed_look(scheduler: Scheduler) -> str:
    """Return the place of a loop that takes a lock, if a thread has looked whether that lock is held; otherwise empty.

    It would have found the lock held by an iteration that was left out. A thread that holds the lock itself would not.
    To release a lock of others is such a look, too: it succeeds, or raises an exception.
    """
    holders: dict[int, int] = {}
    for thread, kind, obj, slot in scheduler.trace if scheduler.haste.locks else ():
        lock = id(obj)
        if lock not in scheduler.haste.locks:
            continue
        if kind in (TRY, QUERY, RELEASE) and holders.get(lock) != thread:
            return scheduler.haste.idle
        if kind == ACQUIRE or (kind == TRY and slot):
            holders[lock] = thread
        elif kind == RELEASE:
            holders.pop(lock, None)
    return ""
