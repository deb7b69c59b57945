"""The just-in-time checker for a history that is still being recorded."""

from __future__ import annotations

from collections.abc import Iterable

from ...history import Call
from ...linearizability.budget import SearchBudget
from ...outcomes import Outcome
from ..items import Semantics
from ..operations import Operation
from .contents import NEVER, Time
from .judgement import WINDOW, HistoryVerdict, Judgement, end_of_window
from .suitability import Unsuitable, why_not_operation
from .translation import PositionedCall


class HistoryMonitor:
    """Monitor that judges a history while it is recorded, and forgets calls that are no longer needed.

    The verdict equals the verdict of :func:`judge_history` for the calls so far. Not thread-safe. A window of calls is
    judged as soon as all calls have returned that began before the last response of the window; or earlier, when no
    call is open. So the memory is bounded by the objects in the store, and by the calls that begin while the longest
    call is open.

    Args:
        indexes: the names of the indices of the store.
        semantics: the generation of client-go that defines the correct results.
        strict_errors: require kcache's error types.
        budget: limits of time and steps; the time starts now.
        least_stretch: the least number of calls to judge when no call is open, unless the history ends.
        window: the number of calls that are judged together; it does not influence the verdict.
    """

    def __init__(
        self,
        indexes: Iterable[str],
        semantics: Semantics = Semantics.CLASSIC,
        *,
        strict_errors: bool = False,
        budget: SearchBudget | None = None,
        least_stretch: int = WINDOW,
        window: int = WINDOW,
    ) -> None:
        self._indexes = frozenset(indexes)
        self._semantics = semantics
        self._strict_errors = strict_errors
        self._judgement = Judgement(self._indexes, semantics, budget, strict_errors=strict_errors)
        self._least_stretch = least_stretch
        self._window = window
        self._begun = 0
        self._open: set[int] = set()
        self._now: Time = -NEVER
        self._calls: list[PositionedCall] = []
        """The calls from the first that is still needed to the last that has begun."""
        self._next = 0
        """The index of the first call that has not been judged."""
        self._complete = 0
        """The number of calls before the first open call."""
        self._horizon: Time = -NEVER
        """The last response among the calls that have been judged."""

    @property
    def result(self) -> HistoryVerdict | None:
        """The verdict, once later calls cannot change it: a violation, or UNKNOWN if the budget is used up."""
        return self._judgement.result

    def begin(self, operation: Operation, tick: int, *, thread: int = 0) -> int:
        """Record the invocation of a call.

        Args:
            operation: the operation.
            tick: the time; ticks never decrease. If one call ends and another begins at the same tick, they count as
                concurrent.
            thread: the number of the calling thread; it does not influence the verdict.

        Returns:
            The position of the call, which identifies it in :meth:`end`.

        Raises:
            Unsuitable: the checker cannot judge histories with this operation.
            ValueError: the tick is less than an earlier tick.
        """
        reason = why_not_operation(operation, self._indexes, self._semantics, strict_errors=self._strict_errors)
        if reason:
            raise Unsuitable(reason)
        if not self._open and tick > self._now and len(self._calls) - self._next >= self._least_stretch:
            self._judge_all()
        self._advance(tick)
        position = self._begun
        self._begun += 1
        self._open.add(position)
        self._calls.append((position, Call(thread, operation, tick, None, None)))
        if len(self._calls) - self._next >= 2 * self._window and len(self._calls) % self._window == 0:
            self._judge_some()
        return position

    def end(self, position: int, outcome: Outcome, tick: int) -> None:
        """Record the response of the call at ``position``.

        Raises:
            ValueError: the tick is less than an earlier tick.
        """
        self._advance(tick)
        self._open.remove(position)
        index = position - self._begun + len(self._calls)
        begun = self._calls[index][1]
        self._calls[index] = position, Call(begun.thread, begun.operation, begun.invoked, tick, outcome)

    def finish(self) -> HistoryVerdict:
        """End the history and return the verdict; calls that are still open stay pending."""
        self._judge_all()
        return self._judgement.finish()

    def _judge_all(self) -> None:
        self._judgement.judge(self._calls, self._window, self._next)
        self._calls = []
        self._next = self._complete = 0

    def _judge_some(self) -> None:
        """Judge the windows whose calls have returned, and the calls, too, that began before the last response.

        These later calls are needed, because their results may contain versions that the window wrote.
        """
        calls, judgement = self._calls, self._judgement
        judgement.give_up_if_due()
        while self._complete < len(calls) and calls[self._complete][1].returned is not None:
            self._complete += 1
        while judgement.result is None and self._complete - self._next >= self._window:
            stop = end_of_window(calls, self._next, self._window)
            if stop > self._complete:
                break
            ends = [call.returned for _, call in calls[self._next : stop] if call.returned is not None]
            horizon = max(self._horizon, *ends)
            first_open = calls[self._complete][1].invoked if self._complete < len(calls) else self._now
            if stop == len(calls) or first_open <= horizon:
                break
            judgement.judge_window(calls, self._next, stop)
            self._next, self._horizon = stop, horizon
        self._forget(judgement.needed)

    def _forget(self, needed: int) -> None:
        """Forget the calls before index ``needed``, except from the first that was still open when it began."""
        calls = self._calls
        if needed == 0:
            return
        since = calls[needed][1].invoked
        for index in range(needed):
            returned = calls[index][1].returned
            if returned is None or returned >= since:
                needed = index
                break
        self._judgement.forget(needed)
        del calls[:needed]
        self._next -= needed
        self._complete -= needed

    def _advance(self, tick: int) -> None:
        if tick < self._now:
            raise ValueError(f"time went back from {self._now} to {tick}")
        self._now = tick
