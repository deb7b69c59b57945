"""Linearizability of a stack onto which no value was pushed twice.

A linear order of a stack's calls is a sequence of blocks, each from a push to the pop of its value, with an order of
the same kind within; calls that found nothing stand between the outermost blocks. So two steps decide, as long as any
value is left:

* Values are parted where one after another is possible: A must come before B, in an outermost block of its own, if a
  call of A returned before one of B began. Values that are bound together by a cycle of this form one block, or none
  of them can.
* A block begins with the push of some value that no call of another precedes, and ends with the pop of it, which
  precedes none. Any such value will do: an order of the others remains one when it is put around them, and an order
  of all remains one when a value is taken out of it.

If there is no such value, or a call within found nothing, no order explains the calls. O(n log n) for each level of
parting; as quick as that for usual histories, O(n^2 log n) where blocks part again and again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from ..history import Call
from .core import smaller_part
from .distinct_queues import Stay, covered_empty, stays_of

_Zone: TypeAlias = tuple[float, float, Stay]
"""First response, last invocation, and whose they are."""


def core_of_stack(calls: Sequence[Call[Any]], *, puts: str, takes: str) -> tuple[Call[Any], ...] | None:
    """Calls that no order explains, none if some order explains all; ``None`` if the algorithm does not suit them.

    Args:
        calls: of one stack, which is empty at first.
        puts: the name of the operation that pushes its argument.
        takes: that of the one that pops, and gives null if there is nothing; no other is understood.
    """
    found = stays_of(calls, puts, takes)
    if found is None or found.core:
        return None if found is None else found.core
    core = covered_empty(found)
    if core:
        return core
    block = _impossible_block([(*stay.zone, stay) for stay in found.stays])
    if not block:
        return ()
    smallest = smaller_part(block, lambda part: bool(_impossible_block(part)))
    return tuple(call for _, _, stay in smallest for call in stay.calls)


def _impossible_block(zones: Sequence[_Zone]) -> Sequence[_Zone]:
    """Values that no order explains; none if there is one."""
    todo = [zones]
    while todo:
        for block in _blocks(todo.pop()):
            left = _peeled(block)
            if len(left) == len(block):
                return block
            if left:
                todo.append(left)
    return ()


def _blocks(zones: Sequence[_Zone]) -> Iterator[Sequence[_Zone]]:
    """The values that must be in one block, where there are several."""
    forward = sorted((zone for zone in zones if zone[0] < zone[1]), key=lambda zone: zone[0])
    blocks: list[list[_Zone]] = []
    ends: list[float] = []
    for zone in forward:
        if blocks and zone[0] < ends[-1]:
            blocks[-1].append(zone)
            ends[-1] = max(ends[-1], zone[1])
        else:
            blocks.append([zone])
            ends.append(zone[1])
    begins = [block[0][0] for block in blocks]
    for zone in zones:
        at = bisect_left(begins, zone[1]) - 1
        if zone[0] >= zone[1] and at >= 0 and zone[0] < ends[at]:
            blocks[at].append(zone)
    return (block for block in blocks if len(block) > 1)


def _peeled(block: Sequence[_Zone]) -> Sequence[_Zone]:
    """What is left when all values that can be at the bottom were taken away, one after another."""
    left = {id(stay): (begin, end, stay) for begin, end, stay in block}
    by_response = sorted(left.values(), key=lambda zone: zone[0], reverse=True)
    by_invocation = sorted(left.values(), key=lambda zone: zone[1])
    by_push = sorted(left.values(), key=lambda zone: zone[2].put.invoked, reverse=True)
    by_pop = sorted(left.values(), key=lambda zone: zone[2].take_end)
    half: set[int] = set()
    while left:
        for order in (by_response, by_invocation):
            while id(order[-1][2]) not in left:
                order.pop()
        ready = []
        while by_push and by_push[-1][2].put.invoked <= by_response[-1][0]:
            ready.append(id(by_push.pop()[2]))
        while by_pop and by_pop[-1][2].take_end >= by_invocation[-1][1]:
            ready.append(id(by_pop.pop()[2]))
        bottom = []
        for stay in ready:
            if stay in half:
                bottom.append(stay)
            half.add(stay)
        if not bottom:
            break
        for stay in bottom:
            del left[stay]
    return list(left.values())
