"""Precedence: the known order in which calls took effect, a strict partial order; each step has a reason."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from ..just_in_time.contents import Event
from .clauses import Clause, Edge

Reason = Clause | None
"""The clause that leaves no other choice; ``None`` for real time: one call had returned before the other began."""


class Precedence:
    """A partial order of calls. ``add`` takes O(calls) operations on sets of bits; ``has`` takes one.

    Args:
        events: the calls; at first they are ordered by real time only.

    Attributes:
        reasons: step -> its reason, in the order in which steps were added.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = list(events)
        self._numbers = {event: number for number, event in enumerate(events)}
        self._after = [0] * len(events)
        self._before = [0] * len(events)
        self.reasons: dict[Edge, Reason] = {}
        for first in events:
            for second in events:
                if first.returned < second.invoked:
                    self.reasons[first, second] = None
                    self._after[self._numbers[first]] |= 1 << self._numbers[second]
                    self._before[self._numbers[second]] |= 1 << self._numbers[first]

    def copy(self) -> Precedence:
        """An independent copy."""
        copied = Precedence(())
        copied._events, copied._numbers = self._events, self._numbers
        copied._after, copied._before = self._after.copy(), self._before.copy()
        copied.reasons = self.reasons.copy()
        return copied

    def has(self, edge: Edge) -> bool:
        """Whether the first call of ``edge`` is known to take effect before the second."""
        first, second = edge
        return bool(self._after[self._numbers[first]] >> self._numbers[second] & 1)

    def forbids(self, edge: Edge) -> bool:
        """Whether ``edge`` would close a cycle."""
        first, second = edge
        return first is second or self.has((second, first))

    def is_real_time(self, first: Event, second: Event) -> bool:
        """Whether ``first`` had returned before ``second`` began."""
        return (first, second) in self.reasons and self.reasons[first, second] is None

    def add(self, edge: Edge, reason: Reason) -> None:
        """Add the step ``edge``; it must not be forbidden. No effect if it is already known."""
        if self.has(edge):
            return
        self.reasons[edge] = reason
        first, second = (self._numbers[event] for event in edge)
        later = self._after[second] | 1 << second
        earlier = self._before[first] | 1 << first
        for number in _members(earlier):
            self._after[number] |= later
        for number in _members(later):
            self._before[number] |= earlier

    def path(self, first: Event, second: Event, before: int | None = None) -> list[Edge]:
        """Return a shortest path of steps from ``first`` to ``second``.

        Args:
            first: the first call of the path.
            second: the last call of the path.
            before: use only the steps that were added before the step of this number.

        Raises:
            KeyError: there is no path.
        """
        steps: dict[Event, list[Event]] = {}
        for begin, end in itertools.islice(self.reasons, before):
            steps.setdefault(begin, []).append(end)
        came_from: dict[Event, Event] = {}
        reached = [first]
        for event in reached:
            if event is second:
                break
            for following in steps.get(event, ()):
                if following not in came_from and following is not first:
                    came_from[following] = event
                    reached.append(following)
        path: list[Edge] = []
        while second is not first:
            path.append((came_from[second], second))
            second = came_from[second]
        return path[::-1]

    def number(self, edge: Edge) -> int:
        """The number of a step: its position in the order in which steps were added, from 0."""
        return list(self.reasons).index(edge)


def _members(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
