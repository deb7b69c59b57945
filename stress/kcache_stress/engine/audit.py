"""Audit of exhaustive searches: executions of the same actors, switched at opcodes, in code that is not rewritten.

An exhaustive search depends on the events that the instrumentation reports. The audit does not: it runs modules without
rewriting, and the interpreter reports each opcode at which actors can be switched. If the audit shows an outcome that
the search has not seen, this is a finding, or a reason why the search proves nothing.

The claim of an audit is a coverage: each actor was interrupted once at each of these places. A number of random
executions would mean less for a long program than for a short one. The budget is a number of events, so that the result
is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from .execution import A, Execution, Judge, Runner
from .granularity import Granularity
from .search import SearchLimits, SearchResult, search
from .strategy import Coverage, Strategy


@dataclass(frozen=True)
class AuditBudget:
    """Budget of one audit.

    Attributes:
        executions: the most executions that interrupt actors at places.
        events: the most events of these executions together.
        draws: number of random schedules after them: they may have several preemptions.
        observed: the most executions of the search that are observed before, at opcodes.
        is_required: whether the search is a proof only if actors were interrupted at all places.
    """

    executions: float
    events: float
    draws: int
    observed: float = inf
    is_required: bool = False


NO_AUDIT: Final = AuditBudget(0, 0, 0, observed=0)
_DRAWS: Final = 60
_EVENTS_PER_SECOND: Final = 200_000
"""Number of opcodes that an audit may execute for each second of a search's budget. A second has about that many."""
_LEAST_EVENTS: Final = 400_000


def _whole_audit(seconds: float) -> AuditBudget:
    """Return the budget for a program that is explored for its own sake; ``seconds`` is the budget of its search."""
    events = max(_LEAST_EVENTS, _EVENTS_PER_SECOND * seconds)
    return AuditBudget(inf, events, _DRAWS, is_required=True)


@dataclass
class AuditShare:
    """Budget of audits for a series of searches; one object serves the whole series.

    Attributes:
        thorough: number of searches, from now on, that are audited thoroughly.
        is_single: whether one program is explored for its own sake: its proof needs an audit of all its places.
    """

    thorough: int = 5
    is_single: bool = False
    _saved: int = 0

    def due(self, seconds: float) -> AuditBudget:
        """Return the budget for the next exhaustive search, whose own budget are ``seconds``."""
        if self.is_single:
            return _whole_audit(seconds)
        if self.thorough > 0:
            return _THOROUGH
        return _AT_ONCE if self._saved >= _EVERY * (_AT_ONCE.executions + _AT_ONCE.draws) else NO_AUDIT

    def spend(self, executions: int, *, is_audited: bool) -> None:
        """Record the number of executions of an exhaustive search, and whether it was audited."""
        if self.thorough > 0:
            self.thorough -= 1
        else:
            self._saved = 0 if is_audited else self._saved + executions


_THOROUGH: Final = AuditBudget(inf, 40_000, 20, observed=2)
"""Small programs are audited at all their places; longer ones in some 40 executions."""
_AT_ONCE: Final = AuditBudget(8, inf, 4, observed=1)
_EVERY: Final = 40
"""Number of executions for each audited one. An audited execution takes some four times as long as another one."""


def sampling_granularity(granularity: Granularity) -> Granularity:
    """Return the granularity of the audit for the granularity of a search."""
    return Granularity.OPCODES if granularity is Granularity.FREE else Granularity.OPCODES_GIL


def audit(
    runner: Runner[A],
    judge: Judge[A],
    plan: Sequence[tuple[Strategy, SearchLimits]],
    *,
    known_outcomes: set[object],
) -> tuple[SearchResult[A], str]:
    """Run schedules of opcodes.

    Args:
        runner: runs the same actors at :func:`sampling_granularity`.
        judge: judges each execution.
        plan: the strategies, in order, each with its limits.
        known_outcomes: the outcomes that the search has seen, as :meth:`~.execution.Runner.outcome` returns them.

    Returns:
        The result of the last search, with the executions of all; and the reason why the search is incomplete, empty
        if there is none or if the audit found a problem.
    """
    lacking: list[str] = []

    def compare(execution: Execution[A]) -> None:
        outcome = runner.outcome(execution)
        if outcome is not None and outcome not in known_outcomes and not lacking:
            lacking.append("an execution switched at opcodes has an outcome that the search did not have")

    result = SearchResult[A](Coverage.BUDGET_SPENT, 0, 0)
    for strategy, limits in plan:
        before = result
        result = search(runner, strategy, judge, limits, on_execution=compare)
        result = replace(
            result, executions=before.executions + result.executions, seconds=before.seconds + result.seconds
        )
        if result.problem is not None:
            return result, ""
    return result, lacking[0] if lacking else ""
