"""Linearizability of a queue in which no value was put twice, in O(n log n).

The conditions are those of T. A. Henzinger, A. Sezgin, V. Vafeiadis: Aspect-Oriented Linearizability Proofs (2013).
Some order explains all calls unless

1. a value was taken that was not put, or before it was put, or twice;
2. a value was put before another (the calls do not overlap), and the other was taken before it, or it never was; or
3. the queue was found empty while it was certainly not: there are values of which the first was in it before that call
   began, the last was so after it ended, and each was in it when the one before it began to be taken.

These conditions suffice, too. Let a come before b if a was put, or taken, before b was put, or a was taken before b
was taken. Two values in a cycle of two break rule 2 or 1; a longer cycle holds one of two, since of four moments, the
first before the second and the third before the fourth, the first is before the fourth or the third before the
second. So the values have an order in which all are put and taken. A call that found the queue empty stands after
each value that need not come later: those that must are reached from it by the chains of rule 3, and a chain that
comes back to it breaks that rule.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from ..history import Call
from ..outcomes import returned

_INFINITY = float("inf")


@dataclass(frozen=True, slots=True)
class Stay:
    """A value from when it was put to when it was taken.

    Attributes:
        put: the call that put it.
        taken: the call that took it; ``None`` if none did.
    """

    put: Call[Any]
    taken: Call[Any] | None

    @property
    def put_end(self) -> float:
        """When putting it ended."""
        return _INFINITY if self.put.returned is None else self.put.returned

    @property
    def take_begin(self) -> float:
        """When taking it began."""
        return _INFINITY if self.taken is None else self.taken.invoked

    @property
    def take_end(self) -> float:
        """When taking it ended."""
        return _INFINITY if self.taken is None or self.taken.returned is None else self.taken.returned

    @property
    def zone(self) -> tuple[float, float]:
        """From the first response to the last invocation: if the former is earlier, it was certainly there between."""
        return min(self.put_end, self.take_end), max(self.put.invoked, self.take_begin)

    @property
    def calls(self) -> tuple[Call[Any], ...]:
        """Both."""
        return (self.put,) if self.taken is None else (self.put, self.taken)


@dataclass(frozen=True)
class Stays:
    """What happened in a container in which no value was put twice.

    Attributes:
        stays: of all values that were there, or may have been.
        empty: the calls that found nothing.
        core: calls that are impossible whatever the container is, if there are such.
    """

    stays: Sequence[Stay]
    empty: Sequence[Call[Any]]
    core: tuple[Call[Any], ...] = ()


def stays_of(calls: Sequence[Call[Any]], puts: str, takes: str) -> Stays | None:
    """Who put and took what; ``None`` if values were put twice, or a call is of another kind, or may have taken any."""
    put: dict[Hashable, Call[Any]] = {}
    taken: dict[Hashable, Call[Any]] = {}
    empty = []
    for call in calls:
        if call.operation.name != puts:
            continue
        value = call.operation.arguments[0]
        if value in put or not (call.outcome is None or call.outcome == returned()):
            return None
        put[value] = call
    core: tuple[Call[Any], ...] = ()
    for call in calls:
        if call.operation.name == puts:
            continue
        outcome = call.outcome
        if call.operation.name != takes or outcome is None or not outcome.is_told or outcome.error is not None:
            return None
        value = outcome.value
        if value is None:
            empty.append(call)
        elif value not in put:
            core = core or (call,)
        elif value in taken:
            core = core or (put[value], taken[value], call)
        elif call.precedes(put[value]):
            core = core or (put[value], call)
        else:
            taken[value] = call
    stays = [Stay(by, taken.get(value)) for value, by in put.items() if by.returned is not None or value in taken]
    return Stays(stays, empty, core)


def core_of_queue(calls: Sequence[Call[Any]], *, puts: str, takes: str) -> tuple[Call[Any], ...] | None:
    """Calls that no order explains, none if some order explains all; ``None`` if the algorithm does not suit them.

    Args:
        calls: of one queue, which is empty at first.
        puts: the name of the operation that puts its argument.
        takes: that of the one that takes, and gives null if there is nothing; no other is understood.
    """
    found = stays_of(calls, puts, takes)
    if found is None or found.core:
        return None if found is None else found.core
    return _overtaken(found.stays) or covered_empty(found)


def _overtaken(stays: Sequence[Stay]) -> tuple[Call[Any], ...]:
    """The calls of two values that break rule 2."""
    by_end = sorted(stays, key=lambda stay: stay.put_end)
    longest: Stay | None = None
    ended = 0
    for stay in sorted(stays, key=lambda stay: stay.put.invoked):
        while by_end[ended].put_end < stay.put.invoked:
            if longest is None or by_end[ended].take_begin > longest.take_begin:
                longest = by_end[ended]
            ended += 1
        if longest is not None and stay.take_end < longest.take_begin:
            return *longest.calls, *stay.calls
    return ()


def covered_empty(found: Stays) -> tuple[Call[Any], ...]:
    """The calls that break rule 3: one that found nothing, and those of a chain of values that covers it."""
    if not found.empty:
        return ()
    zones = sorted((*stay.zone, number) for number, stay in enumerate(found.stays) if stay.zone[0] < stay.zone[1])
    components: list[tuple[float, float]] = []
    for begin, end, _ in zones:
        if components and begin < components[-1][1]:
            components[-1] = components[-1][0], max(components[-1][1], end)
        else:
            components.append((begin, end))
    begins = [begin for begin, _ in components]
    for call in found.empty:
        at = bisect_left(begins, call.invoked) - 1
        returned = call.returned or 0
        if at < 0 or components[at][1] <= returned:
            continue
        chain: list[Stay] = []
        reached: float = call.invoked
        while reached <= returned or not chain:
            end, number = max((end, number) for begin, end, number in zones if begin < reached)
            chain.append(found.stays[number])
            reached = end
        return call, *(own for stay in chain for own in stay.calls)
    return ()
