"""The frontier checker for a history that is complete, and for one that is still going on."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from ...history import Call, History
from ...items import Semantics
from ...operations import Operation
from ...outcomes import Outcome
from ...verdict import Status
from .contents import NEVER, Time
from .course import Checkpoint, Course
from .locating import first_unexplained
from .result import FrontierBudget, FrontierResult, Purse
from .suitability import Unsuitable, why_not_operation
from .window import PositionedCall

WINDOW: Final = 512
"""How many calls are looked at together. More tell more in advance; fewer are sooner forgotten."""


def judge_history(
    history: History, *, strict_errors: bool = False, budget: FrontierBudget | None = None, window: int = WINDOW
) -> FrontierResult:
    """Whether some order of the calls, each between its invocation and its response, explains all results.

    Sound and complete. Linear in the number of calls if that of threads is bounded; exponential in the number of
    concurrent writes in the worst case.

    Args:
        history: the calls; pending ones may or may not have taken effect.
        strict_errors: ask for kcache's error types; by default any error is accepted where one is due.
        budget: where to give up.
        window: how many calls are looked at together; no matter for the verdict.

    Raises:
        Unsuitable: the checker cannot judge such a history; :func:`why_not` says so beforehand.
    """
    calls = list(enumerate(history.calls))
    calls.sort(key=_invocation)
    judgement = _Judgement(history.indexes, history.semantics, budget, strict_errors=strict_errors)
    judgement.judge(calls, window)
    return judgement.finish()


class HistoryMonitor:
    """Judges a history while it goes on. What is past is forgotten when no call is open.

    The memory that it needs is bounded by the objects in the store and by the calls of the longest stretch without such
    a moment. The verdict is that of :func:`judge_history` for the calls so far. Not thread-safe.

    Args:
        indexes: the names of the indices of the store.
        semantics: which generation of client-go decides.
        strict_errors: ask for kcache's error types.
        budget: where to give up; the time starts to run now.
        least_stretch: judge no fewer calls at once, unless the history ends.
    """

    def __init__(
        self,
        indexes: Iterable[str],
        semantics: Semantics = Semantics.CLASSIC,
        *,
        strict_errors: bool = False,
        budget: FrontierBudget | None = None,
        least_stretch: int = WINDOW,
    ) -> None:
        self._indexes = frozenset(indexes)
        self._semantics = semantics
        self._strict_errors = strict_errors
        self._judgement = _Judgement(self._indexes, semantics, budget, strict_errors=strict_errors)
        self._least_stretch = least_stretch
        self._begun = 0
        self._open: set[int] = set()
        self._calls: dict[int, Call] = {}
        self._now: Time = -NEVER

    @property
    def result(self) -> FrontierResult | None:
        """The answer, once later calls can no longer change it: a violation, or that the budget is used up."""
        return self._judgement.result

    def begin(self, operation: Operation, tick: int, *, thread: int = 0) -> int:
        """A call is invoked.

        Args:
            operation: what is called.
            tick: when; ticks never go back, and calls that meet at the same tick count as concurrent.
            thread: which thread makes the call. Threads make no difference to the verdict.

        Returns:
            The position of the call, which is its name from now on.

        Raises:
            Unsuitable: the checker cannot judge histories with this operation.
        """
        reason = why_not_operation(operation, self._indexes, self._semantics, strict_errors=self._strict_errors)
        if reason:
            raise Unsuitable(reason)
        if not self._open and len(self._calls) >= self._least_stretch and tick > self._now:
            self._judge()
        self._advance(tick)
        position = self._begun
        self._begun += 1
        self._open.add(position)
        self._calls[position] = Call(thread, operation, tick, None, None)
        return position

    def end(self, position: int, outcome: Outcome, tick: int) -> None:
        """The call at ``position`` has given ``outcome``."""
        self._advance(tick)
        self._open.remove(position)
        self._calls[position] = replace(self._calls[position], returned=tick, outcome=outcome)

    def finish(self) -> FrontierResult:
        """There are no more calls; those that are open are pending for good."""
        self._judge()
        return self._judgement.finish()

    def _judge(self) -> None:
        calls, self._calls = list(self._calls.items()), {}
        self._judgement.judge(calls, WINDOW)

    def _advance(self, tick: int) -> None:
        if tick < self._now:
            raise ValueError(f"time went back from {self._now} to {tick}")
        self._now = tick


class _Judgement:
    """Judges calls window by window; on a violation, finds the first call that nothing explains."""

    def __init__(
        self, indexes: Iterable[str], semantics: Semantics, budget: FrontierBudget | None, *, strict_errors: bool
    ) -> None:
        self.result: FrontierResult | None = None
        self._purse = Purse(budget or FrontierBudget())
        self._course = Course(indexes, semantics, self._purse, strict_errors=strict_errors)
        self._judged = 0
        self._checkpoints: list[tuple[int, Checkpoint]] = []

    def judge(self, calls: Sequence[PositionedCall], window: int) -> None:
        """Judge ``calls``, which begin when all earlier ones have ended; in the order of their invocations."""
        self._checkpoints = []
        start = 0
        while start < len(calls) and self.result is None:
            stop = min(start + window, len(calls))
            while stop < len(calls) and calls[stop][1].invoked == calls[stop - 1][1].invoked:
                stop += 1
            self._judge_window(calls, start, stop)
            start = stop
        self._judged += len(calls)

    def finish(self) -> FrontierResult:
        """The answer, when there are no more calls."""
        return self.result or self._answer(Status.OK, self._judged, None)

    def _judge_window(self, calls: Sequence[PositionedCall], start: int, stop: int) -> None:
        course = self._course
        since = calls[start][1].invoked
        self._checkpoints.append((start, course.checkpoint()))
        while len(self._checkpoints) > 1 and self._checkpoints[1][1].horizon < since:
            del self._checkpoints[0]
        course.judge(calls, start, stop)
        if course.status is not Status.OK:
            self._conclude(calls, stop, since)

    def _conclude(self, calls: Sequence[PositionedCall], stop: int, since: int) -> None:
        course = self._course
        position = course.stopped_at
        if course.status is Status.VIOLATION:
            first, checkpoint = self._checkpoints[0]
            until = max([call.returned for _, call in calls[first:stop] if call.returned is not None])
            last = bisect_right(calls, until, key=_invocation)
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


def _invocation(positioned: PositionedCall) -> int:
    return positioned[1].invoked
