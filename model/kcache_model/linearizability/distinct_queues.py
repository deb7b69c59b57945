"""Linearizability of a queue in which no value was put twice, in O(n log n).

The conditions are from T. A. Henzinger, A. Sezgin, V. Vafeiadis: Aspect-Oriented Linearizability Proofs (2013). Some
order explains all calls unless

1. a value was taken twice, or without being put, or before it was put;
2. value a was put before value b (the calls do not overlap), and b was taken before a, or b was taken and a never; or
3. a call found the queue empty while it was certainly not empty: there is a chain of values. The first value was in the
   queue before the call began, the last value was still in the queue after the call ended, and each value was in the
   queue when the previous value began to be taken.

If no condition is violated, an order exists. Let a come before b if a was put or taken before b was put, or if a was
taken before b was taken. A cycle of two values violates rule 2 or 1. A longer cycle contains a cycle of two: of four
moments, if the first is before the second, and the third before the fourth, then the first is before the fourth or the
third before the second. So there is an order in which all values can be put and taken. A call that found the queue
empty comes after each value that need not come later. The values that must come later are reached from the call by the
chains of rule 3. If a chain comes back to the call, it violates rule 3.
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
    """The stay of a value in a container, from the call that put it to the call that took it.

    Attributes:
        put_call: the call that put the value.
        taken: the call that took the value; ``None`` if it was not taken.
    """

    put_call: Call[Any]
    taken: Call[Any] | None

    @property
    def put_end(self) -> float:
        """The time at which the put returned; infinity if it is pending."""
        return _INFINITY if self.put_call.returned is None else self.put_call.returned

    @property
    def take_begin(self) -> float:
        """The time at which the take was invoked; infinity if the value was not taken."""
        return _INFINITY if self.taken is None else self.taken.invoked

    @property
    def take_end(self) -> float:
        """The time at which the take returned; infinity if the value was not taken or the take is pending."""
        return _INFINITY if self.taken is None or self.taken.returned is None else self.taken.returned

    @property
    def zone(self) -> tuple[float, float]:
        """First response and last invocation: if the first is earlier, the value was certainly there in between."""
        return min(self.put_end, self.take_end), max(self.put_call.invoked, self.take_begin)

    @property
    def calls(self) -> tuple[Call[Any], ...]:
        """The put, and the take if there is one."""
        return (self.put_call,) if self.taken is None else (self.put_call, self.taken)


@dataclass(frozen=True)
class Stays:
    """The stays of all values in a container in which no value was put twice.

    Attributes:
        stays: one stay for each value that was put, except values whose put is pending and that no call took.
        empty: the calls that found the container empty.
        core: calls that are impossible for every kind of container; empty if there are none.
    """

    stays: Sequence[Stay]
    empty: Sequence[Call[Any]]
    core: tuple[Call[Any], ...] = ()


def stays_of(calls: Sequence[Call[Any]], puts: str, takes: str) -> Stays | None:
    """Return the stays; ``None`` if a value was put twice, a call is of another kind, or an outcome is unknown."""
    put_calls: dict[Hashable, Call[Any]] = {}
    taken: dict[Hashable, Call[Any]] = {}
    empty = []
    for call in calls:
        if call.operation.name != puts:
            continue
        value = call.operation.arguments[0]
        if value in put_calls or not (call.outcome is None or call.outcome == returned()):
            return None
        put_calls[value] = call
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
        elif value not in put_calls:
            core = core or (call,)
        elif value in taken:
            core = core or (put_calls[value], taken[value], call)
        elif call.precedes(put_calls[value]):
            core = core or (put_calls[value], call)
        else:
            taken[value] = call
    stays = [Stay(by, taken.get(value)) for value, by in put_calls.items() if by.returned is not None or value in taken]
    return Stays(stays, empty, core)


def core_of_queue(calls: Sequence[Call[Any]], *, puts: str, takes: str) -> tuple[Call[Any], ...] | None:
    """Return calls that no order explains, none if an order explains all; ``None`` if the algorithm is not applicable.

    Args:
        calls: the calls of one queue, which is empty at first.
        puts: the name of the operation that puts its argument.
        takes: the name of the operation that takes a value, and returns null if the queue is empty. Calls of other
            operations make the algorithm inapplicable.
    """
    stays = stays_of(calls, puts, takes)
    if stays is None or stays.core:
        return None if stays is None else stays.core
    return _overtaken(stays.stays) or covered_empty(stays)


def _overtaken(stays: Sequence[Stay]) -> tuple[Call[Any], ...]:
    """Return the calls of two values that violate rule 2; nothing if there are none."""
    by_end = sorted(stays, key=lambda stay: stay.put_end)
    longest: Stay | None = None
    ended = 0
    for stay in sorted(stays, key=lambda stay: stay.put_call.invoked):
        while by_end[ended].put_end < stay.put_call.invoked:
            if longest is None or by_end[ended].take_begin > longest.take_begin:
                longest = by_end[ended]
            ended += 1
        if longest is not None and stay.take_end < longest.take_begin:
            return *longest.calls, *stay.calls
    return ()


def covered_empty(stays: Stays) -> tuple[Call[Any], ...]:
    """Return calls that violate rule 3: a call that found the container empty, and a chain of values that covers it."""
    if not stays.empty:
        return ()
    zones = sorted((*stay.zone, number) for number, stay in enumerate(stays.stays) if stay.zone[0] < stay.zone[1])
    components: list[tuple[float, float]] = []
    for begin, end, _ in zones:
        if components and begin < components[-1][1]:
            components[-1] = components[-1][0], max(components[-1][1], end)
        else:
            components.append((begin, end))
    begins = [begin for begin, _ in components]
    for call in stays.empty:
        at = bisect_left(begins, call.invoked) - 1
        returned = call.returned or 0
        if at < 0 or components[at][1] <= returned:
            continue
        chain: list[Stay] = []
        reached: float = call.invoked
        while reached <= returned or not chain:
            end, number = max((end, number) for begin, end, number in zones if begin < reached)
            chain.append(stays.stays[number])
            reached = end
        return call, *(own for stay in chain for own in stay.calls)
    return ()
