"""Data races, seen at the state where they can happen.

Between two of its synchronisation events a thread accesses what it likes; a search that switches threads at these
events only is complete if no two such stretches could overlap and conflict. The last stretch of a thread is open until
its next synchronisation event: whatever another thread does meanwhile is unordered with it.

In a program that has a race, some execution comes to a state where one thread's open stretch conflicts with the step
that another one takes next: of the first two accesses that race, leave out all that happens before neither; then no
synchronisation of the first thread is left after its access.

A search may give back locks early, as if nobody could do anything between the stretch and the release. All that others
could do there without the lock they can do afterwards too, so the stretch stays open until somebody takes the lock, or
another one that was given back after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..events import ACQUIRE, RELEASE, TRY, WRITE, Event, Trace, location

Stretch = dict[object, int]
"""Location -> whether it was written."""

Locks = frozenset[int]
"""Ids of locks."""

_NONE: Locks = frozenset()


@dataclass(frozen=True)
class Clash:
    """Two accesses that race.

    Attributes:
        threads: the two threads.
        events: where in the trace the accesses are.
    """

    threads: tuple[int, int]
    events: tuple[int, int]


@dataclass
class OpenAccesses:
    """The open stretches of all threads.

    Attributes:
        stretches: thread -> the locks given back since, one of which closes it when somebody takes it -> the stretch.
        early: the positions in the trace where locks are given back early.
    """

    stretches: dict[int, dict[Locks, Stretch]] = field(default_factory=dict)
    early: set[int] = field(default_factory=set)

    def restart(self, trace: Trace) -> None:
        """Find the stretches that are open after ``trace``."""
        self.stretches = {}
        for position in range(self._begin_of_last_steps(trace), len(trace)):
            self._add(position, trace[position])

    def _begin_of_last_steps(self, trace: Trace) -> int:
        """Where the first of the last steps of all threads begins."""
        left = {event[0] for event in trace}
        position = len(trace)
        while left and position:
            position -= 1
            thread, kind, _, _ = trace[position]
            if kind > WRITE and position not in self.early:
                left.discard(thread)
        return position

    def step(self, trace: Trace, start: int) -> Clash | None:
        """Add the events from position ``start`` on; returns a race that they bring to light."""
        found = None
        for position in range(start, len(trace)):
            thread, kind, obj, slot = event = trace[position]
            if kind <= WRITE and found is None:
                other = self._clash(thread, location(obj, slot), kind)
                if other is not None:
                    first = _find(trace[:position], other, location(obj, slot), kind)
                    found = Clash((other, thread), (first, position))
            self._add(position, event)
        return found

    def forget(self) -> None:
        """An execution is about to start."""
        self.stretches = {}
        self.early.clear()

    def _add(self, position: int, event: Event) -> None:
        thread, kind, obj, slot = event
        own = self.stretches.setdefault(thread, {})
        if kind <= WRITE:
            _add(own.setdefault(_NONE, {}), {location(obj, slot): kind})
        elif kind == RELEASE and position in self.early:
            closed: dict[Locks, Stretch] = {}
            for locks, stretch in own.items():
                _add(closed.setdefault(locks | {id(obj)}, {}), stretch)
            self.stretches[thread] = closed
        else:
            own.clear()
            if kind == ACQUIRE or (kind == TRY and slot):
                self._close(id(obj))

    def _close(self, lock: int) -> None:
        for stretches in self.stretches.values():
            for locks in [locks for locks in stretches if lock in locks]:
                del stretches[locks]

    def _clash(self, thread: int, where: object, kind: int) -> int | None:
        for other, stretches in self.stretches.items():
            if other != thread:
                for stretch in stretches.values():
                    if where in stretch and (kind or stretch[where]):
                        return other
        return None


def identity_and_slot(where: Any) -> tuple[int, object]:
    """The id of the object, and the slot if it is not accessed as a whole, of a :func:`location`."""
    return where if isinstance(where, tuple) else (where, None)


def _add(stretch: Stretch, more: Stretch) -> None:
    for where, kind in more.items():
        if kind or where not in stretch:
            stretch[where] = kind


def _find(trace: Iterable[Event], thread: int, where: object, kind: int) -> int:
    """The last access of ``thread`` that conflicts with one of that kind."""
    found = -1
    for position, (by, other, obj, slot) in enumerate(trace):
        if by == thread and other <= WRITE and (kind or other) and location(obj, slot) == where:
            found = position
    if found < 0:
        raise AssertionError("a stretch has accesses that never happened")
    return found
