"""Linearizability check: the public function that judges a history, and the explanation of violations."""

from __future__ import annotations

from collections.abc import Sequence

from ..anomaly import Anomaly
from ..history import Call
from ..linearizability.budget import SearchBudget
from ..linearizability.core import impossible_core
from ..linearizability.search import SearchResult, search_linearization
from ..outcomes import Outcome
from ..render import brief_text, no_order_text, result_text
from ..verdict import Status, Verdict
from .eviction import model_of
from .explanation import Explainer, Explanation
from .just_in_time import judge_history, small_core, why_not
from .program import History

LONGEST_SEARCHED = 12
"""Histories of up to this many calls are searched: the search returns the order. Longer histories are judged just in
time if :func:`.just_in_time.why_not` has no objection; otherwise they are searched as well."""

_LONGEST_FOLLOWED = 200
"""If there is no argument, reports of histories of up to this many calls describe the order that gets furthest."""

_CORE_BUDGET = SearchBudget(seconds=0.5, steps=50_000)
_CORE_SECONDS = 2.0


def check_linearizable(history: History, *, strict_errors: bool = False, budget: SearchBudget | None = None) -> Verdict:
    """Whether some order of the calls, each between its invocation and its response, explains all results.

    Sound and complete. Exponential in the number of concurrent writes in the worst case; linear in the number of calls
    if the number of threads is bounded and stamps are unique. A verdict of OK contains the order if the history was
    searched, which always holds for up to :data:`LONGEST_SEARCHED` calls.

    Args:
        history: the calls.
        strict_errors: require kcache's error types; by default, any error is accepted where an error is expected.
        budget: limits of time and steps; the verdict is UNKNOWN if they are exceeded.
    """
    budget = budget or SearchBudget()
    has_stamps = not why_not(history, strict_errors=strict_errors)
    if has_stamps and len(history.calls) > LONGEST_SEARCHED:
        return _judged_just_in_time(history, budget, strict_errors=strict_errors)
    judge = _Judge(history, strict_errors)
    result = judge.search(history.calls, budget)
    if result.status is Status.OK:
        return Verdict(Status.OK, order=tuple(history.calls[position] for position in result.order), steps=result.steps)
    if result.status is Status.UNKNOWN:
        reason = (
            f"the search gave up after {result.steps} steps; its longest order has {len(result.order)} of "
            f"{len(history.calls)} calls. Use a larger budget, or judge shorter histories"
        )
        return Verdict(Status.UNKNOWN, reason=reason, steps=result.steps)
    core = impossible_core(history.calls, judge.is_impossible)
    explanation = explain_violation(history, core, strict_errors=strict_errors) if has_stamps else None
    return judge.violation(core, explanation, result.steps)


def explain_violation(history: History, core: Sequence[Call], *, strict_errors: bool = False) -> Explanation | None:
    """Return the argument why no order explains the results of ``core``: calls of a history with unique stamps."""
    return Explainer(history, strict_errors=strict_errors).explain(_positions(history, core))


def _judged_just_in_time(history: History, budget: SearchBudget, *, strict_errors: bool) -> Verdict:
    result = judge_history(history, strict_errors=strict_errors, budget=budget)
    if result.status is Status.OK:
        return Verdict(Status.OK, steps=result.tried)
    if result.status is Status.UNKNOWN:
        reason = (
            f"the checker gave up after {result.tried} configurations; it had judged {result.judged} of "
            f"{len(history.calls)} calls. Use a larger budget, or judge shorter histories"
        )
        return Verdict(Status.UNKNOWN, reason=reason, steps=result.tried)
    assert result.position is not None
    return violation_at(history, result.position, strict_errors=strict_errors, steps=result.tried)


def violation_at(history: History, position: int, *, strict_errors: bool = False, steps: int = 0) -> Verdict:
    """Return the verdict on a history with unique stamps that is already known to be not linearizable.

    Args:
        history: the calls.
        position: the position of the first call that no order explains.
        strict_errors: require kcache's error types.
        steps: the number of configurations that were tried; copied into the verdict.
    """
    judge = _Judge(history, strict_errors)
    explainer = Explainer(history, strict_errors=strict_errors)
    explanation = explainer.explain([position])
    if explanation is not None and explanation.argument:
        return judge.violation((), explanation, steps)
    core = small_core(history, position, strict_errors=strict_errors, seconds=_CORE_SECONDS)
    explanation = explainer.explain(_positions(history, core))
    is_long = len(history.calls) > _LONGEST_FOLLOWED
    return judge.violation(core, explanation, steps, history.calls[position] if is_long else None)


def _positions(history: History, core: Sequence[Call]) -> list[int]:
    """Return the positions in the history of the calls of ``core``, compared by identity."""
    in_core = {id(call) for call in core}
    return [position for position, call in enumerate(history.calls) if id(call) in in_core]


class _Judge:
    def __init__(self, history: History, strict_errors: bool) -> None:
        self.strict_errors = strict_errors
        self._history = history
        self._model = model_of(history)
        self._initial = self._model.initial(history.indexes)

    def search(self, calls: Sequence[Call], budget: SearchBudget) -> SearchResult:
        return search_linearization(self._model, self._initial, calls, budget, self._agrees)

    def is_impossible(self, calls: Sequence[Call]) -> bool:
        return self.search(calls, _CORE_BUDGET).status is Status.VIOLATION

    def violation(
        self, core: Sequence[Call], explanation: Explanation | None, steps: int, first: Call | None = None
    ) -> Verdict:
        """Return the verdict. Its reason is the argument, or the call ``first``, or the order that gets furthest."""
        anomaly = None if explanation is None else explanation.anomaly
        if explanation is not None and explanation.argument:
            core, reason = explanation.calls, explanation.argument
        elif first is not None:
            reason = (
                f"{brief_text(first.operation)} {result_text(first.outcome)}. No sequential order of the calls gives "
                f"that. It is the first impossible response among {len(self._history.calls)} calls"
            )
        else:
            reason = self._furthest(core)
        return Verdict(
            Status.VIOLATION, core=tuple(core), reason=_headed(anomaly, reason), steps=steps, anomaly=anomaly
        )

    def _furthest(self, core: Sequence[Call]) -> str:
        """Describe the order that gets furthest, and the result that the model returns for the next call there."""
        in_core = {id(call) for call in core}
        calls = [call for call in self._history.calls if id(call) in in_core or call.operation.is_write]
        furthest = self.search(calls, _CORE_BUDGET).order
        state = self._initial
        for position in furthest:
            state, _ = self._model.respond(state, calls[position].operation, calls[position].outcome)
        stuck = [call for position, call in enumerate(calls) if position not in furthest and call.returned is not None]
        if not stuck:
            return "no sequential order of these calls explains all their results"
        call = min(stuck, key=lambda call: call.returned or 0)
        _, expected = self._model.respond(state, call.operation, call.outcome)
        return no_order_text(call, [calls[position] for position in furthest], expected)

    def _agrees(self, observed: Outcome, expected: Outcome) -> bool:
        return observed.agrees_with(expected, strict_errors=self.strict_errors)


def _headed(anomaly: Anomaly | None, reason: str) -> str:
    return reason if anomaly is None else f"{anomaly.value}: {reason}"
