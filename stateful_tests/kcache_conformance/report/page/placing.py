"""Positions of calls, and of the points of an order, in logical time.

Each tick at which anything happened is a slot, and so is the interval between one tick and the next: tick ``t`` is slot
``2t``, what follows it ``2t + 1``. A call covers the slots from its invocation to its response. A point of the order
lies in a slot of its call, and no point lies before the one that precedes it in the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kcache_model.history import Call


@dataclass(frozen=True)
class Placed:
    """Calls in lanes.

    Attributes:
        ticks: the ticks at which anything happened.
        spans: for each call the first and the last slot; a pending call lasts to the end.
        rows: for each call the row in its lane; only overlapping calls of the same thread need several rows.
    """

    ticks: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    rows: tuple[int, ...]


def place_calls(calls: Sequence[Call]) -> Placed:
    """Return the slots and rows of ``calls``, which are ordered by invocation."""
    happened = {call.invoked for call in calls} | {call.returned for call in calls if call.returned is not None}
    ticks = tuple(sorted(happened))
    slots = {tick: 2 * number for number, tick in enumerate(ticks)}
    end = 2 * len(ticks) - 1
    spans = tuple(
        (slots[call.invoked], end if call.returned is None else max(slots[call.returned], slots[call.invoked]))
        for call in calls
    )
    rows = []
    free_after: dict[int, list[int]] = {}
    for call, (first, last) in zip(calls, spans, strict=True):
        ends = free_after.setdefault(call.thread, [])
        row = next((row for row, taken_to in enumerate(ends) if taken_to < first), len(ends))
        ends[row : row + 1] = [last]
        rows.append(row)
    return Placed(ticks, spans, tuple(rows))


def place_points(spans: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Return the slot of each point for the calls of an order that respects real time."""
    earliest: list[int] = []
    for first, _ in spans:
        earliest.append(max(first, earliest[-1] if earliest else 0))
    latest = max((last for _, last in spans), default=0)
    points = []
    for begin, (_, last) in zip(reversed(earliest), reversed(spans), strict=True):
        latest = min(latest, last)
        points.append((begin + latest) // 2)
    return tuple(reversed(points))
