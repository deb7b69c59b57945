"""Judges calls window by window; on a violation, finds the first call that nothing explains."""

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
"""How many are tried by default: a few for each call that meets concurrent writes."""

WINDOW: Final = 512
"""How many calls are looked at together. More tell more in advance; fewer are sooner forgotten."""


@dataclass(frozen=True)
class HistoryVerdict:
    """The answer.

    Attributes:
        status: OK and VIOLATION are certain; UNKNOWN means that the budget ran out.
        judged: how many calls the answer is about: all of them if OK; if UNKNOWN, those that responded before the
            checker gave up; on a VIOLATION, those up to the one that nothing explains.
        position: on a VIOLATION, the first call that nothing explains: some order of the calls explains all that was
            observed before its response, and none explains this response, too. If the budget runs out while it is
            searched for, a call that responds later. ``None`` otherwise.
        largest: the largest number of configurations after a response.
        tried: how many configurations were tried altogether.
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

    Sound and complete. Linear in the number of calls if that of threads is bounded; exponential in the number of
    concurrent writes in the worst case.

    Args:
        history: the calls; pending ones may or may not have taken effect.
        strict_errors: ask for kcache's error types; by default any error is accepted where one is due.
        budget: where to give up; by default after a minute or :data:`MOST_CONFIGURATIONS`.
        window: how many calls are looked at together; no matter for the verdict.

    Raises:
        Unsuitable: the checker cannot judge such a history; :func:`why_not` says so beforehand.
    """
    judgement = Judgement(history.indexes, history.semantics, budget, strict_errors=strict_errors)
    invoked = [call.invoked for call in history.calls]
    order = sorted(range(len(invoked)), key=invoked.__getitem__)
    judgement.judge([(position, history.calls[position]) for position in order], window)
    return judgement.finish()


class Judgement:
    """The judgement on one history, as far as it has been judged.

    Attributes:
        result: the answer, once later calls can no longer change it.
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
        """The index of the first call that may be looked at again."""
        return self._checkpoints[0][0] if self._checkpoints else 0

    def forget(self, count: int) -> None:
        """The first ``count`` calls, which are not needed any more, are no longer handed over."""
        self._judged += count
        self._checkpoints = [(start - count, checkpoint) for start, checkpoint in self._checkpoints]

    def give_up_if_due(self) -> None:
        """Look whether the budget is used up: calls may have to be kept for long before they can be judged."""
        if self.result is None and self._budget.is_used_up():
            self.result = self._answer(Status.UNKNOWN, self._judged, None)

    def finish(self) -> HistoryVerdict:
        """The answer, when there are no more calls."""
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
    """The position of the first call such that what was observed up to its response has no explanation.

    The linearization may stop too early, because it looks ahead: what later reads returned counts from the beginning.
    So parts of the history are judged, of doubling length first, then halfway between the longest good and the shortest
    bad one: O(log(number of responses)). If the budget runs out, the last call of the shortest bad beginning found.

    Args:
        checkpoint: where to continue from; everything that was open there ends before ``since``.
        calls: all that begin after it, in the order of their invocations.
        since: everything that happens before this time can be explained.
        until: everything that happens until this time cannot.
        stopped_at: the position of a call, if it stopped at its response: what happens before can be explained.
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
    """What had happened by ``end``; calls that ended after it, or are among ``later``, were still open."""
    return [
        (position, call)
        if call.returned is None or (call.returned <= end and position not in later)
        else (position, replace(call, returned=None, outcome=None))
        for position, call in calls
        if call.invoked <= end
    ]


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
