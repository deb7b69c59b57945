"""Judges calls window by window; on a violation, finds the first call that nothing explains."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final

from ...indexers.items import Semantics
from ...verdict import Status
from .course import Checkpoint, Course
from .locating import first_unexplained
from .result import FrontierBudget, FrontierResult, Purse
from .window import PositionedCall

WINDOW: Final = 512
"""How many calls are looked at together. More tell more in advance; fewer are sooner forgotten."""


class Judgement:
    """The judgement on one history, as far as it has been judged.

    Attributes:
        result: the answer, once later calls can no longer change it.
    """

    def __init__(
        self, indexes: Iterable[str], semantics: Semantics, budget: FrontierBudget | None, *, strict_errors: bool
    ) -> None:
        self.result: FrontierResult | None = None
        self._purse = Purse(budget or FrontierBudget())
        self._course = Course(indexes, semantics, self._purse, strict_errors=strict_errors)
        self._judged = 0
        self._checkpoints: list[tuple[int, Checkpoint]] = []

    def judge(self, calls: Sequence[PositionedCall], window: int = WINDOW, start: int = 0) -> None:
        """Judge all calls from index ``start`` to the end, and forget them: whatever follows begins later.

        Args:
            calls: in the order of their invocations; those before ``start`` have been judged and are still kept.
            window: how many calls to look at together.
            start: the index of the first that has not been judged.
        """
        while start < len(calls) and self.result is None:
            stop = end_of_window(calls, start, window)
            self.judge_window(calls, start, stop)
            start = stop
        self._judged += len(calls)
        self._checkpoints = []

    def judge_window(self, calls: Sequence[PositionedCall], start: int, stop: int) -> None:
        """Judge the calls from ``start`` to ``stop``.

        Args:
            calls: in the order of their invocations; complete until behind the last response of the calls before
                ``stop``.
            start: the index of the first.
            stop: the index behind the last; a call that begins at the same tick must not be cut off.
        """
        course = self._course
        since = calls[start][1].invoked
        self._checkpoints.append((start, course.checkpoint()))
        while len(self._checkpoints) > 1 and self._checkpoints[1][1].horizon < since:
            del self._checkpoints[0]
        course.judge(calls, start, stop)
        if course.status is not Status.OK:
            self._conclude(calls, stop, since)

    @property
    def needed(self) -> int:
        """The index of the first call that may be looked at again."""
        return self._checkpoints[0][0] if self._checkpoints else 0

    def forget(self, count: int) -> None:
        """The first ``count`` calls, which are not needed any more, are no longer handed over."""
        self._judged += count
        self._checkpoints = [(start - count, checkpoint) for start, checkpoint in self._checkpoints]

    def give_up_if_due(self) -> None:
        """Look whether the budget is used up: calls may have to be kept for long before they can be judged."""
        if self.result is None and self._purse.is_used_up():
            self.result = self._answer(Status.UNKNOWN, self._judged, None)

    def finish(self) -> FrontierResult:
        """The answer, when there are no more calls."""
        return self.result or self._answer(Status.OK, self._judged, None)

    def _conclude(self, calls: Sequence[PositionedCall], stop: int, since: int) -> None:
        course = self._course
        position = course.stopped_at
        if course.status is Status.VIOLATION:
            first, checkpoint = self._checkpoints[0]
            until = _known_until(calls, first, stop)
            last = bisect_right(calls, until, key=invocation)
            position = first_unexplained(checkpoint, calls[first:last], since, until, position)
        returned = [call.returned for _, call in calls if call.returned is not None]
        end = next(call.returned for at, call in calls if at == position)
        assert end is not None
        if course.status is Status.UNKNOWN:
            judged = self._judged + sum(tick < end for tick in returned)
            self.result = self._answer(Status.UNKNOWN, judged, None)
        else:
            judged = self._judged + sum(tick <= end for tick in returned)
            self.result = self._answer(Status.VIOLATION, judged, position)

    def _answer(self, status: Status, judged: int, position: int | None) -> FrontierResult:
        return FrontierResult(status, judged, position, self._course.largest, self._purse.spent)


def _known_until(calls: Sequence[PositionedCall], first: int, stop: int) -> int:
    """The last response that counted, when the calls from ``first`` to ``stop`` were judged.

    Writes that begin before all these calls have ended were looked at, too, with what they gave.
    """
    ends = [call.returned for _, call in calls[first:stop] if call.returned is not None]
    horizon = bisect_right(calls, max(ends), key=invocation)
    ends += [call.returned for _, call in calls[stop:horizon] if call.returned is not None and call.operation.is_write]
    return max(ends)


def end_of_window(calls: Sequence[PositionedCall], start: int, window: int) -> int:
    """The index behind the last of ``window`` calls, or of a few more that begin at the same tick."""
    stop = min(start + window, len(calls))
    while stop < len(calls) and calls[stop][1].invoked == calls[stop - 1][1].invoked:
        stop += 1
    return stop


def invocation(positioned: PositionedCall) -> int:
    """The tick at which the call was invoked."""
    return positioned[1].invoked
