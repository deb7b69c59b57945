"""The first call that nothing explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...verdict import Status
from .contents import Time
from .course import Checkpoint
from .window import PositionedCall


def first_unexplained(
    checkpoint: Checkpoint, calls: Sequence[PositionedCall], since: Time, until: Time, stopped_at: int | None
) -> int:
    """The position of the first call such that what was observed up to its response has no explanation.

    The course may stop too early, because it looks ahead: what later reads returned counts from the beginning. So parts
    of the history are judged, of doubling length first, then halfway between the longest good and the shortest bad one.
    O(log(number of responses)) courses. If the budget runs out, the last call of the shortest bad beginning found.

    Args:
        checkpoint: where to continue from; everything that was open there ends before ``since``.
        calls: all that begin after it, in the order of their invocations.
        since: everything that happens before this time can be explained.
        until: everything that happens until this time cannot.
        stopped_at: the position of a call, if the course stopped at its response: what happens before can be explained.
    """
    responses = [
        (call.returned, position)
        for position, call in calls
        if call.returned is not None and since <= call.returned <= until
    ]
    responses.sort(key=lambda response: response[0])
    positions = [position for _, position in responses]
    good, bad = -1 if stopped_at is None else positions.index(stopped_at) - 1, len(positions) - 1
    step = 1
    while bad - good > 1:
        middle = min(good + step, (good + bad) // 2)
        later = set(positions[middle + 1 :])
        beginning = _until(calls, responses[middle][0], later)
        course = checkpoint.resumed()
        course.judge(beginning, 0, len(beginning))
        if course.status is Status.UNKNOWN:
            break
        if course.status is Status.OK:
            good, step = middle, 2 * step
        else:
            bad = middle
    return positions[bad]


def _until(calls: Sequence[PositionedCall], end: Time, later: set[int]) -> list[PositionedCall]:
    """What had happened by ``end``; calls that ended after it, or are among ``later``, were still open."""
    return [
        (position, call)
        if call.returned is None or (call.returned <= end and position not in later)
        else (position, replace(call, returned=None, outcome=None))
        for position, call in calls
        if call.invoked <= end
    ]
