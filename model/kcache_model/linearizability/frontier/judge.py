"""The frontier checker for a history that is complete, and for one that is still going on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...history import Call, History
from ...items import Semantics
from ...operations import Operation
from ...outcomes import Outcome
from .course import Course
from .result import FrontierBudget, FrontierResult, Purse
from .suitability import Unsuitable, why_not, why_not_operation
from .translation import PositionedCall

LEAST_STRETCH = 256
"""How many calls are judged at once, at least: shorter stretches are put together."""


def judge_history(
    history: History, *, strict_errors: bool = False, budget: FrontierBudget | None = None
) -> FrontierResult:
    """Whether some order of the calls, each between its invocation and its response, explains all results.

    Sound and complete. Linear in the number of calls if the number of threads is bounded; exponential in the number of
    concurrent writes in the worst case.

    Args:
        history: the calls; pending ones may or may not have taken effect.
        strict_errors: ask for kcache's error types; by default any error is accepted where one is due.
        budget: where to give up.

    Raises:
        Unsuitable: the checker cannot judge such a history; :func:`why_not` says so beforehand.
    """
    reason = why_not(history, strict_errors=strict_errors)
    if reason:
        raise Unsuitable(reason)
    purse = Purse(budget or FrontierBudget())
    course = Course(history.indexes, history.semantics, purse, strict_errors=strict_errors)
    stretch: list[PositionedCall] = []
    ended: float = 0
    for position, call in sorted(enumerate(history.calls), key=_invocation):
        if len(stretch) >= LEAST_STRETCH and call.invoked > ended:
            course.judge(stretch)
            if course.result is not None:
                return course.result
            stretch = []
        stretch.append((position, call))
        ended = max(ended, float("inf") if call.returned is None else call.returned)
    course.judge(stretch)
    return course.finish()


def _invocation(positioned: PositionedCall) -> int:
    return positioned[1].invoked


class HistoryMonitor:
    """Judges a history while it goes on. What is past is forgotten at each moment at which no call is open.

    The memory that it needs is bounded by the objects in the store and by the calls of the longest stretch without such
    a moment. The verdict is that of :func:`judge_history` for the calls so far.

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
        least_stretch: int = LEAST_STRETCH,
    ) -> None:
        self._indexes = frozenset(indexes)
        self._semantics = semantics
        self._strict_errors = strict_errors
        self._course = Course(self._indexes, semantics, Purse(budget or FrontierBudget()), strict_errors=strict_errors)
        self._least_stretch = least_stretch
        self._begun = 0
        self._open: set[int] = set()
        self._calls: dict[int, Call] = {}
        self._now: float = float("-inf")

    @property
    def result(self) -> FrontierResult | None:
        """The answer, as soon as it is certain that later calls cannot change it."""
        return self._course.result

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
        return self._course.finish()

    def _judge(self) -> None:
        calls, self._calls = list(self._calls.items()), {}
        self._course.judge(calls)

    def _advance(self, tick: int) -> None:
        if tick < self._now:
            raise ValueError(f"time went back from {self._now} to {tick}")
        self._now = tick
