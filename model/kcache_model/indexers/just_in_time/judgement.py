"""Judgement of calls, window by window; on a violation, search for the first call that no order explains."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ...linearizability.budget import RunningBudget, SearchBudget
from ...verdict import Status
from ..items import Semantics
from ..program import History
from .contents import Time
from .linearization import Checkpoint, Linearization
from .translation import PositionedCall

MOST_CONFIGURATIONS: Final = 20_000_000
"""Default limit of the configurations that are tried. A call with concurrent writes takes a few configurations."""

WINDOW: Final = 512
"""Number of calls that are judged together. A larger window looks further ahead; a smaller one needs less memory."""


@dataclass(frozen=True)
class HistoryVerdict:
    """Verdict of the just-in-time checker.

    Attributes:
        status: OK and VIOLATION are certain; UNKNOWN means that the budget ran out.
        judged: the number of judged calls: all calls if OK; if UNKNOWN, the calls that responded before the checker
            gave up; on a VIOLATION, the calls that responded up to the call at ``position``.
        position: on a VIOLATION, the position of the first call that no order explains: some order of the calls
            explains all responses before its response, and no order explains its response as well. If the budget runs
            out during the search for this call, the position of a call that responds later. ``None`` otherwise.
        largest: the largest number of configurations after a response.
        tried: the total number of configurations that were tried.
    """

    status: Status
    judged: int
    position: int | None
    largest: int
    tried: int


def judge_history(
    history: History, *, strict_errors: bool = False, budget: SearchBudget | None = None, window: int = WINDOW
) -> HistoryVerdict:
    """Whether some order of the calls, each between its invocation and its response, explains all results.

    Sound and complete. Linear in the number of calls if the number of threads is bounded; exponential in the number of
    concurrent writes in the worst case.

    Args:
        history: the calls; pending calls may or may not have taken effect.
        strict_errors: require kcache's error types; by default, any error is accepted where an error is expected.
        budget: limits of time and configurations; by default a minute and :data:`MOST_CONFIGURATIONS`.
        window: the number of calls that are judged together; it does not influence the verdict.

    Raises:
        Unsuitable: the checker cannot judge this history; :func:`why_not` returns the reason in advance.
    """
    judgement = Judgement(history.indexes, history.semantics, budget, strict_errors=strict_errors)
    invoked = [call.invoked for call in history.calls]
    order = sorted(range(len(invoked)), key=invoked.__getitem__)
    judgement.judge([(position, history.calls[position]) for position in order], window)
    return judgement.finish()


class Judgement:
    """The judgement on one history, as far as it has been judged.

    Attributes:
        result: the verdict, once later calls cannot change it.
    """

    def __init__(
        self, indexes: Iterable[str], semantics: Semantics, budget: SearchBudget | None, *, strict_errors: bool
    ) -> None:
        self.result: HistoryVerdict | None = None
        self._budget = RunningBudget(budget or SearchBudget(60.0, MOST_CONFIGURATIONS))
        self._linearization = Linearization(indexes, semantics, self._budget, strict_errors=strict_errors)
        self._judged = 0
        self._checkpoints: list[tuple[int, Checkpoint]] = []

    def judge(self, calls: Sequence[PositionedCall], window: int = WINDOW, start: int = 0) -> None:
        """Judge all calls from index ``start`` to the end, and forget them: all later calls begin after them.

        Args:
            calls: in the order of their invocations; the calls before ``start`` have been judged and are still kept.
            window: the number of calls to judge together.
            start: the index of the first call that has not been judged.
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
            calls: in the order of their invocations; they include all calls that begin up to the last response of the
                calls before ``stop``.
            start: the index of the first call.
            stop: the index after the last call; calls that begin at the same tick must not be separated.
        """
        linearization = self._linearization
        since = calls[start][1].invoked
        self._checkpoints.append((start, linearization.checkpoint()))
        while len(self._checkpoints) > 1 and self._checkpoints[1][1].horizon < since:
            del self._checkpoints[0]
        linearization.judge(calls, start, stop)
        if linearization.status is not Status.OK:
            self._conclude(calls, stop, since)

    @property
    def needed(self) -> int:
        """The index of the first call that may be judged again, in a search for the first unexplained call."""
        return self._checkpoints[0][0] if self._checkpoints else 0

    def forget(self, count: int) -> None:
        """Adjust the indices: the first ``count`` calls are not needed any more and are no longer passed."""
        self._judged += count
        self._checkpoints = [(start - count, checkpoint) for start, checkpoint in self._checkpoints]

    def give_up_if_due(self) -> None:
        """Set the result to UNKNOWN if the budget is used up: calls may be kept for long before they are judged."""
        if self.result is None and self._budget.is_used_up():
            self.result = self._answer(Status.UNKNOWN, self._judged, None)

    def finish(self) -> HistoryVerdict:
        """The verdict, when there are no more calls."""
        return self.result or self._answer(Status.OK, self._judged, None)

    def _conclude(self, calls: Sequence[PositionedCall], stop: int, since: int) -> None:
        linearization = self._linearization
        position = linearization.stopped_at
        if linearization.status is Status.VIOLATION:
            first, checkpoint = self._checkpoints[0]
            until = _known_until(calls, first, stop)
            last = bisect_right(calls, until, key=invocation)
            position = _first_unexplained(checkpoint, calls[first:last], since, until, position)
        returned = [call.returned for _, call in calls if call.returned is not None]
        end = next(call.returned for at, call in calls if at == position)
        assert end is not None
        if linearization.status is Status.UNKNOWN:
            judged = self._judged + sum(tick < end for tick in returned)
            self.result = self._answer(Status.UNKNOWN, judged, None)
        else:
            judged = self._judged + sum(tick <= end for tick in returned)
            self.result = self._answer(Status.VIOLATION, judged, position)

    def _answer(self, status: Status, judged: int, position: int | None) -> HistoryVerdict:
        return HistoryVerdict(status, judged, position, self._linearization.largest, self._budget.spent)


def _first_unexplained(
    checkpoint: Checkpoint, calls: Sequence[PositionedCall], since: Time, until: Time, stopped_at: int | None
) -> int:
    """Return the position of the first call such that no order explains the history up to its response.

    The linearization may stop too early, because it looks ahead: the results of later reads count from the beginning.
    So prefixes of the history are judged; their length is doubled first, then halved between the longest good and the
    shortest bad prefix: O(log(number of responses)) prefixes. If the budget runs out, return the last call of the
    shortest bad prefix so far.

    Args:
        checkpoint: the point to continue from; every call that was open there ends before ``since``.
        calls: all calls that begin after the checkpoint, in the order of their invocations.
        since: the history before this time can be explained.
        until: the history until this time cannot be explained.
        stopped_at: the position of the call at whose response the linearization stopped; the history before this
            response can be explained. ``None`` if it stopped before the first response.
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
        beginning = _until(calls, responses[middle][0], set(positions[middle + 1 :]))
        linearization = checkpoint.resumed()
        linearization.judge(beginning, 0, len(beginning))
        if linearization.status is Status.UNKNOWN:
            break
        if linearization.status is Status.OK:
            good, step = middle, 2 * step
        else:
            bad = middle
    return positions[bad]


def _until(calls: Sequence[PositionedCall], end: Time, later: set[int]) -> list[PositionedCall]:
    """Return the calls that began by ``end``; calls that ended later, or are in ``later``, are made pending."""
    return [
        (position, call)
        if call.returned is None or (call.returned <= end and position not in later)
        else (position, replace(call, returned=None, outcome=None))
        for position, call in calls
        if call.invoked <= end
    ]


def _known_until(calls: Sequence[PositionedCall], first: int, stop: int) -> int:
    """Return the last response that was taken into account when the calls from ``first`` to ``stop`` were judged.

    These are the responses of these calls, and of the writes that begin before all these calls have ended.
    """
    ends = [call.returned for _, call in calls[first:stop] if call.returned is not None]
    horizon = bisect_right(calls, max(ends), key=invocation)
    ends += [call.returned for _, call in calls[stop:horizon] if call.returned is not None and call.operation.is_write]
    return max(ends)


def end_of_window(calls: Sequence[PositionedCall], start: int, window: int) -> int:
    """The index after the last of ``window`` calls, extended by the calls that begin at the same tick as the last."""
    stop = min(start + window, len(calls))
    while stop < len(calls) and calls[stop][1].invoked == calls[stop - 1][1].invoked:
        stop += 1
    return stop


def invocation(positioned: PositionedCall) -> int:
    """The tick at which the call was invoked."""
    return positioned[1].invoked
