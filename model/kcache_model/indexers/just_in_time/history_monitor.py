"""The just-in-time checker for a history that is still going on."""

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
    """Judges a history while it goes on, and forgets what is past.

    The verdict is that of :func:`judge_history` for the calls so far. Not thread-safe. A window of calls is judged as
    soon as it is known what all those gave that began before the last of them ended; or earlier, when no call is open.
    So the memory that it needs is bounded by the objects in the store, and by the calls that begin while the longest
    call is open.

    Args:
        indexes: the names of the indices of the store.
        semantics: which generation of client-go decides.
        strict_errors: ask for kcache's error types.
        budget: where to give up; the time starts to run now.
        least_stretch: when no call is open, judge no fewer calls at once, unless the history ends.
        window: how many calls are looked at together; no matter for the verdict.
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
        """From the first that is still needed to the last that has begun."""
        self._next = 0
        """The index of the first call that has not been judged."""
        self._complete = 0
        """How many calls at the beginning have all returned."""
        self._horizon: Time = -NEVER
        """When the last of the calls that have been judged returned."""

    @property
    def result(self) -> HistoryVerdict | None:
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
        """The call at ``position`` has given ``outcome``."""
        self._advance(tick)
        self._open.remove(position)
        index = position - self._begun + len(self._calls)
        begun = self._calls[index][1]
        self._calls[index] = position, Call(begun.thread, begun.operation, begun.invoked, tick, outcome)

    def finish(self) -> HistoryVerdict:
        """There are no more calls; those that are open are pending for good."""
        self._judge_all()
        return self._judgement.finish()

    def _judge_all(self) -> None:
        self._judgement.judge(self._calls, self._window, self._next)
        self._calls = []
        self._next = self._complete = 0

    def _judge_some(self) -> None:
        """Judge windows whose calls have returned, and all others that began by then: they may tell what was read."""
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
        """Keep the calls from ``needed`` on, and of those before all from the first that was still open then."""
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
