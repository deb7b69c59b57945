"""Loops that sleep until another thread has changed something: ``while not done: time.sleep(0.01)``.

Such a thread may wake at any moment, so there is no last execution: after each wake-up it finds what it has found
before, and sleeps again. But if nothing that it has read has changed, it is in the state in which it was, and what it
does next it has done before. So these wake-ups are left out: the thread waits until another thread has changed a place
that it has read since it began to wait, or until no other thread can go on. Its wake-up reads these places, so the
search knows that the change comes first.

This is true only if an iteration depends on nothing but the variables of the thread and what it has read. Therefore it
must have changed nothing, and read no clock; the same call must sleep again with the same variables; and there may be
no iterator whose position is not seen: no ``for`` loop around, and no variable with one. Locks that it has taken and
released do not count, unless another thread looks whether they are free.

Prior art. The spin loops of GenMC (M. Kokologiannakis, X. Ren, V. Vafeiadis: Dynamic Partial Order Reductions for
Spinloops, 2021) are blocked in the same way; there a compiler proves that an iteration has no effect, here it is
observed. The alternative is a limit on the number of early wake-ups, which is no proof. It holds for all other waits.

Open question. A loop that waits with a timeout (``queue.get(timeout=0.01)``) changes the queue of waiters in each
iteration and changes it back; that it has no effect is not seen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ...engine.events import (
    ACQUIRE,
    PAUSE,
    QUERY,
    READ,
    RELEASE,
    TRY,
    AtomicAccesses,
    Event,
    Pending,
    Trace,
    are_dependent,
)
from ...stacks import is_harness, variables_of
from .loops import is_in_for, is_in_while

if TYPE_CHECKING:
    from .scheduler import Scheduler

_MOST_FRAMES: Final = 60
"""Number of frames that are compared. A poll in a deeper recursion is a wait like any other."""
_HARMLESS: Final = frozenset({READ, PAUSE, ACQUIRE, RELEASE})
_LOOKS: Final = frozenset({TRY, QUERY})
_SCALARS: Final = (bool, int, float, str, bytes, type(None))
_CONTAINERS: Final = (list, tuple, dict, set, frozenset, deque, bytearray)

_State: TypeAlias = "tuple[object, ...]"


class Sleep:
    """A sleep in a loop.

    Attributes:
        state: the position of the thread, and its variables.
        end: length of the trace when the sleep had ended.
    """

    __slots__ = ("end", "state")

    def __init__(self, state: _State) -> None:
        self.state = state
        self.end = 0


class Changed:
    """The condition that another thread has changed what a thread has read in the last iteration of its loop.

    Args:
        scheduler: of the thread.
        reads: place -> position in the trace at which the thread has read it first.
        locks: the ids of the locks that the thread has taken.
    """

    def __init__(self, scheduler: Scheduler, reads: dict[tuple[int, int], int], locks: set[int]) -> None:
        self._scheduler = scheduler
        self._thread = scheduler.current
        self._reads = [(at, scheduler.trace[at][1:]) for at in reads.values()]
        self._locks = locks
        self._holders: dict[int, int] = {}
        self._position = min(reads.values(), default=len(scheduler.trace))
        self._is_over = False

    @property
    def event(self) -> Pending:
        """The event of the end of the wait, which reads all places again."""
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
            if self._locks:
                self._look_for_lookers(event)
        return self._is_over

    def _look_for_lookers(self, event: Event) -> None:
        """Note threads that look whether a lock is free that the loop would have taken now and then."""
        thread, kind, obj, slot = event
        if id(obj) not in self._locks:
            return
        if kind == RELEASE:
            self._holders.pop(id(obj), None)
        elif kind == ACQUIRE or (kind == TRY and slot):
            self._holders[id(obj)] = thread
        if kind in _LOOKS and thread != self._thread and (self._holders.get(id(obj)) != thread or slot):
            self._scheduler.proof_obstacles["a thread looks for a lock that another one takes in a polling loop"] = None


def unchanged_since(scheduler: Scheduler, frame: FrameType | None) -> Changed | None:
    """Return what the running thread waits for if it sleeps as before, after an iteration without any effect.

    ``None`` if it is in no such loop, or has changed something, or its variables.

    Args:
        scheduler: of the running thread.
        frame: the frame that sleeps.
    """
    if scheduler.tracer is not None:  # the code is not instrumented, so nobody knows what it has read
        return None
    thread = scheduler.actors[scheduler.current]
    before, thread.last_sleep = thread.last_sleep, None
    if not is_in_while(frame):
        return None
    state = _state_of(frame)
    if state is None:
        return None
    thread.last_sleep = Sleep(state)
    if before is None or before.state != state:
        return None
    return _iteration(scheduler, before.end)


def slept(scheduler: Scheduler) -> None:
    """Record that a sleep of the running thread has ended."""
    sleep = scheduler.actors[scheduler.current].last_sleep
    if sleep is not None:
        sleep.end = len(scheduler.trace)


def _iteration(scheduler: Scheduler, begin: int) -> Changed | None:
    """Return the condition that ends a wait after an iteration; ``None`` if the iteration may have had an effect."""
    trace: Trace = scheduler.trace
    reads: dict[tuple[int, int], int] = {}
    locks: dict[int, int] = {}
    for at in range(begin, len(trace)):
        thread, kind, obj, slot = trace[at]
        if thread != scheduler.current:
            continue
        if kind not in _HARMLESS or type(slot) is AtomicAccesses:
            return None
        if kind == READ:
            reads.setdefault((id(obj), id(slot)), at)
        elif kind != PAUSE:
            locks[id(obj)] = locks.get(id(obj), 0) + (1 if kind == ACQUIRE else -1)
    return None if any(locks.values()) else Changed(scheduler, reads, set(locks))


def _state_of(frame: FrameType | None) -> _State | None:
    """Return the position of a thread and its variables, down to its first frame; ``None`` if not all of it is seen."""
    state: list[object] = []
    for _ in range(_MOST_FRAMES):
        if frame is None:
            return tuple(state)
        if not is_harness(frame.f_code.co_filename):
            if is_in_for(frame):
                return None
            state += (frame.f_code, frame.f_lasti)
            for name, value in variables_of(frame).items():
                if hasattr(type(value), "__next__"):
                    return None
                state += (name, *_parts(value))
        frame = frame.f_back
    return None


def _parts(value: Any) -> Iterator[object]:
    kind = type(value)
    yield kind
    if kind in _SCALARS:
        yield repr(value) if kind is float else value  # nan differs from itself, and 0.0 equals -0.0
    else:
        yield id(value)
        yield len(value) if kind in _CONTAINERS else 0
