"""Explanation of an execution on an Indexer: its history, and the reason why it is not linearizable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kcache_model.anomaly import Anomaly
from kcache_model.history import Call
from kcache_model.indexers.check import check_linearizable
from kcache_model.indexers.operations import Operation
from kcache_model.indexers.program import History, Program
from kcache_model.linearizability import SearchBudget
from kcache_model.outcomes import Outcome
from kcache_model.verdict import Status

from ..engine.execution import Execution
from ..judgement.history import calls_of

_BUDGET = SearchBudget(seconds=2.0)


def history_of(program: Program, execution: Execution[Outcome], final_reads: Sequence[Operation]) -> History:
    """Return the history of an execution on an Indexer."""
    return History(program.indexes, calls_of(program, execution, final_reads), program.semantics, program.may_evict)


@dataclass(frozen=True)
class Explained:
    """The reason why an execution is not linearizable.

    Attributes:
        calls: the calls to show.
        core: positions in ``calls`` of calls whose results are impossible in any sequential order.
        reason: why they are impossible; empty if no violation was shown.
        anomaly: the class of the violation.
    """

    calls: tuple[Call, ...]
    core: tuple[int, ...] = ()
    reason: str = ""
    anomaly: Anomaly | None = None


def explained(
    program: Program, execution: Execution[Outcome], final_reads: Sequence[Operation], strict_errors: bool
) -> Explained:
    """Return the calls of the execution and the reason why it is not linearizable.

    If it is linearizable, or if the check takes too long, the reason is empty.
    """
    history = history_of(program, execution, final_reads)
    verdict = check_linearizable(history, strict_errors=strict_errors, budget=_BUDGET)
    if verdict.status is not Status.VIOLATION:
        return Explained(tuple(call for call in history.calls if call.thread >= 0))
    in_core = {id(call) for call in verdict.core}
    calls = tuple(call for call in history.calls if call.thread >= 0 or id(call) in in_core or call.operation.is_write)
    core = tuple(position for position, call in enumerate(calls) if id(call) in in_core)
    return Explained(calls, core, verdict.reason, verdict.anomaly)
