"""The frontier checker for a history that is complete."""

from __future__ import annotations

from ...history import History
from .judgement import WINDOW, Judgement, invocation
from .result import FrontierBudget, FrontierResult


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
    calls.sort(key=invocation)
    judgement = Judgement(history.indexes, history.semantics, budget, strict_errors=strict_errors)
    judgement.judge(calls, window)
    return judgement.finish()
