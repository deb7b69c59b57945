"""The judge: history in, verdict out."""

from __future__ import annotations

from collections.abc import Sequence

from ..history import Call, History
from ..indexer_model import IndexerModel
from ..outcomes import Outcome
from ..render import brief_text, outcome_text
from ..verdict import Status, Verdict
from .core import impossible_core, with_optional_writes
from .frontier import FrontierBudget, judge_history, small_core, why_not
from .search import SearchBudget, SearchResult, search_linearization

LONGEST_SEARCHED = 12
"""Up to so many calls, histories are searched, which also explains them; longer ones are judged by the frontier checker
if they are of the kind for which it is made."""

_LONGEST_EXPLAINED = 200
"""Up to so many calls, the order that gets furthest is searched for, whoever was the judge."""

_CORE_BUDGET = SearchBudget(seconds=0.5, steps=50_000)


def check_linearizable(history: History, *, strict_errors: bool = False, budget: SearchBudget | None = None) -> Verdict:
    """Whether some order of the calls, each between its invocation and its response, explains all results.

    Sound and complete: OK and VIOLATION are certain; UNKNOWN means that the budget ran out. Exponential in the number
    of concurrent writes in the worst case. For long histories with unique stamps, linear in the number of calls as a
    rule; the verdict does then not tell the order.

    Args:
        history: the calls; pending ones may or may not have taken effect. An error is an outcome like any other.
        strict_errors: ask for kcache's error types; by default any error is accepted where one is due.
        budget: where to give up.
    """
    judge = _Judge(history, strict_errors)
    if len(history.calls) > LONGEST_SEARCHED and not why_not(history, strict_errors=strict_errors):
        return _judged_by_frontier(history, judge, budget or SearchBudget(), strict_errors=strict_errors)
    result = judge.search(history.calls, budget or SearchBudget())
    if result.status is Status.OK:
        return Verdict(Status.OK, order=tuple(history.calls[position] for position in result.order), steps=result.steps)
    if result.status is Status.UNKNOWN:
        reason = (
            f"the search gave up after {result.steps} steps; it had ordered {len(result.order)} of "
            f"{len(history.calls)} calls. Give it a larger budget or judge shorter histories"
        )
        return Verdict(Status.UNKNOWN, reason=reason, steps=result.steps)
    core = impossible_core(history.calls, judge.is_impossible)
    return Verdict(Status.VIOLATION, core=core, reason=judge.reason(core), steps=result.steps)


def _judged_by_frontier(history: History, judge: _Judge, budget: SearchBudget, *, strict_errors: bool) -> Verdict:
    limits = FrontierBudget(budget.seconds, budget.steps)
    result = judge_history(history, strict_errors=strict_errors, budget=limits)
    if result.status is Status.OK:
        return Verdict(Status.OK, steps=result.tried)
    if result.status is Status.UNKNOWN:
        reason = (
            f"the checker gave up after {result.tried} configurations; it had judged {result.judged} of "
            f"{len(history.calls)} calls. Give it a larger budget or judge shorter histories"
        )
        return Verdict(Status.UNKNOWN, reason=reason, steps=result.tried)
    assert result.position is not None
    core = small_core(history, result.position, strict_errors=strict_errors)
    if len(history.calls) <= _LONGEST_EXPLAINED:
        reason = judge.reason(core)
    else:
        call = history.calls[result.position]
        reason = (
            f"{brief_text(call.operation)} gave {outcome_text(call.outcome)}, which no order of the calls allows: it "
            f"is the first such response among {len(history.calls)} calls"
        )
    return Verdict(Status.VIOLATION, core=tuple(core), reason=reason, steps=result.tried)


class _Judge:
    def __init__(self, history: History, strict_errors: bool) -> None:
        self._history = history
        self._strict_errors = strict_errors
        self._model = IndexerModel(history.semantics)
        self._initial = self._model.initial(history.indexes)

    def search(self, calls: Sequence[Call], budget: SearchBudget) -> SearchResult:
        return search_linearization(self._model, self._initial, calls, budget, self._agrees)

    def is_impossible(self, calls: Sequence[Call]) -> bool:
        return self.search(calls, _CORE_BUDGET).status is Status.VIOLATION

    def reason(self, core: Sequence[Call]) -> str:
        """Why no order explains the core: what the model gives in the order that gets furthest."""
        calls = with_optional_writes(core, self._history.calls)
        furthest = self.search(calls, _CORE_BUDGET).order
        state = self._initial
        for position in furthest:
            state, _ = self._model.apply(state, calls[position].operation)
        stuck = [call for position, call in enumerate(calls) if position not in furthest and call.returned is not None]
        if not stuck:
            return "no order of these calls explains all of their results"
        call = min(stuck, key=lambda call: call.returned or 0)
        _, expected = self._model.apply(state, call.operation)
        order = ", ".join(brief_text(calls[position].operation) for position in furthest)
        nearest = f"after {order}" if order else "on the empty store"
        return (
            f"{brief_text(call.operation)} gave {outcome_text(call.outcome)}, which no order of the calls allows; the "
            f"order that gets furthest: {nearest} it gives {outcome_text(expected)}"
        )

    def _agrees(self, observed: Outcome, expected: Outcome) -> bool:
        return observed.agrees_with(expected, strict_errors=self._strict_errors)
