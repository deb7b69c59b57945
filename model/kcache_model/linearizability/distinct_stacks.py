"""Linearizability of a stack on which no value was pushed twice.

A linear order of a stack's calls is a sequence of blocks. Each block begins with a push, ends with the pop of the same
value, and contains an order of the same kind. Pops of the empty stack are between the outermost blocks. Two steps are
repeated while any value is left:

* Split the values into blocks: if a call of A returned before a call of B began, and A and B are in different outermost
  blocks, then A comes before B. Values on a cycle of this relation must be in one block.
* Remove the outermost value of each block: no call of another value precedes its push, and its pop precedes no call of
  another value. Any value with this property is suitable: an order of the other values remains valid if this value is
  put around it, and an order of all values remains valid if a value is removed from it.

If no value has this property, or if a pop of the empty stack is within a block, no order explains the calls.
O(n log n) for each level of splitting: so fast for usual histories, O(n^2 log n) if blocks split many times.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from ..history import Call
from .core import smaller_part
from .distinct_queues import Stay, covered_empty, stays_of

_Zone: TypeAlias = tuple[float, float, Stay]
"""First response and last invocation among the calls of a value, and the value's stay."""


def core_of_stack(calls: Sequence[Call[Any]], *, puts: str, takes: str) -> tuple[Call[Any], ...] | None:
    """Return calls that no order explains, none if an order explains all; ``None`` if the algorithm is not applicable.

    Args:
        calls: the calls of one stack, which is empty at first.
        puts: the name of the operation that pushes its argument.
        takes: the name of the operation that pops, and returns null if the stack is empty. Calls of other operations
            make the algorithm inapplicable.
    """
    stays = stays_of(calls, puts, takes)
    if stays is None or stays.core:
        return None if stays is None else stays.core
    core = covered_empty(stays)
    if core:
        return core
    block = _impossible_block([(*stay.zone, stay) for stay in stays.stays])
    if not block:
        return ()
    smallest = smaller_part(block, lambda part: bool(_impossible_block(part)))
    return tuple(call for _, _, stay in smallest for call in stay.calls)


def _impossible_block(zones: Sequence[_Zone]) -> Sequence[_Zone]:
    """Return a block of values that no order explains; nothing if an order explains all values."""
    todo = [zones]
    while todo:
        for block in _blocks(todo.pop()):
            inner = _peeled(block)
            if len(inner) == len(block):
                return block
            if inner:
                todo.append(inner)
    return ()


def _blocks(zones: Sequence[_Zone]) -> Iterator[Sequence[_Zone]]:
    """Return the groups of two or more values that must be in one block."""
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
    """Remove values that can be outermost, one after another, as long as there are any; return the other values."""
    remaining = {id(stay): (begin, end, stay) for begin, end, stay in block}
    by_response = sorted(remaining.values(), key=lambda zone: zone[0], reverse=True)
    by_invocation = sorted(remaining.values(), key=lambda zone: zone[1])
    by_push = sorted(remaining.values(), key=lambda zone: zone[2].put_call.invoked, reverse=True)
    by_pop = sorted(remaining.values(), key=lambda zone: zone[2].take_end)
    half: set[int] = set()
    while remaining:
        for order in (by_response, by_invocation):
            while id(order[-1][2]) not in remaining:
                order.pop()
        ready = []
        while by_push and by_push[-1][2].put_call.invoked <= by_response[-1][0]:
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
            del remaining[stay]
    return list(remaining.values())
