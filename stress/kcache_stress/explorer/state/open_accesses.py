"""Data races, seen at the state where they can happen.

Between two of its synchronisation events a thread accesses what it likes; a search that switches threads at these
events only is complete if no two such stretches could overlap and conflict. The last stretch of a thread is open until
its next synchronisation event: whatever another thread does meanwhile is unordered with it.

In a program that has a race, some execution comes to a state where one thread's open stretch conflicts with the step
that another one takes next: of the first two accesses that race, leave out all that happens before neither; then no
synchronisation of the first thread is left after its access.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..events import WRITE, Event, Trace, location

Stretch = dict[object, int]
"""Location -> whether it was written, of the accesses since the last synchronisation event of a thread."""


@dataclass(frozen=True)
class Clash:
    """Two accesses that race.

    Attributes:
        threads: the two threads.
        events: where in the trace the accesses are.
    """

    threads: tuple[int, int]
    events: tuple[int, int]


class OpenAccesses:
    """The open stretches of all threads."""

    def __init__(self) -> None:
        self.stretches: dict[int, Stretch] = {}

    def restart(self, trace: Trace) -> None:
        """Find the stretches that are open after ``trace``."""
        self.stretches = {}
        self._add(trace)

    def step(self, trace: Trace, start: int) -> Clash | None:
        """Add the events of one step, from position ``start`` on; returns a race that they bring to light."""
        events = trace[start:]
        self._add(events)
        for thread in {event[0] for event in events}:
            clash = self._clash(thread, trace)
            if clash is not None:
                return clash
        return None

    def _add(self, events: Iterable[Event]) -> None:
        stretches = self.stretches
        for thread, kind, obj, slot in events:
            if kind > WRITE:
                stretches[thread] = {}
                continue
            stretch = stretches.get(thread)
            if stretch is None:
                stretch = stretches[thread] = {}
            where = location(obj, slot)
            if kind or where not in stretch:
                stretch[where] = kind

    def _clash(self, thread: int, trace: Trace) -> Clash | None:
        own = self.stretches[thread]
        if not own:
            return None
        for other, stretch in self.stretches.items():
            if other == thread or not stretch:
                continue
            for where in own:  # in the order of the accesses
                if where in stretch and (own[where] or stretch[where]):
                    first = _find(trace, other, where, stretch[where])
                    second = _find(trace, thread, where, own[where])
                    return Clash((other, thread), (first, second))
        return None


def _find(trace: Trace, thread: int, where: object, kind: int) -> int:
    """The last access of that sort."""
    for position in range(len(trace) - 1, -1, -1):
        by, found, obj, slot = trace[position]
        if by == thread and found == kind and location(obj, slot) == where:
            return position
    raise AssertionError("a stretch has accesses that never happened")
