"""An execution as a history, for the judge that explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from kcache_model.anomaly import Anomaly
from kcache_model.history import FINAL_THREAD, PREFIX_THREAD, Call, History
from kcache_model.linearizability import SearchBudget, check_linearizable
from kcache_model.operations import Operation
from kcache_model.outcomes import Outcome
from kcache_model.program import CallProgram, Program
from kcache_model.verdict import Status

from .execution import Execution
from .judgement.orders import marks_in_order

Op = TypeVar("Op")

_BUDGET = SearchBudget(seconds=2.0)


def calls_of(program: CallProgram[Op], execution: Execution[Outcome], final: Sequence[Op]) -> tuple[Call[Op], ...]:
    """The calls of an execution in the order in which they began, with those before and after the threads."""
    calls = _alone(PREFIX_THREAD, program.prefix, execution.prefix, 0)
    begun = 2 * len(calls)
    threads = [
        (thread, operation, outcome)
        for thread, outcomes in enumerate(execution.outcomes)
        for operation, outcome in zip(program.threads[thread], outcomes, strict=False)
    ]
    ticks = {mark: begun + tick for tick, mark in enumerate(marks_in_order(execution))}
    calls += [
        Call(thread, operation, ticks[position + 1], ticks[-position - 1], outcome)
        for position, (thread, operation, outcome) in enumerate(threads)
    ]
    calls += _alone(FINAL_THREAD, final, execution.final, begun + len(ticks))
    return tuple(sorted(calls, key=lambda call: call.invoked))


def history_of(program: Program, execution: Execution[Outcome], final_reads: Sequence[Operation]) -> History:
    """The calls of an execution on an Indexer."""
    return History(program.indexes, calls_of(program, execution, final_reads), program.semantics)


@dataclass(frozen=True)
class Explained:
    """Why no order of the calls explains an execution.

    Attributes:
        calls: the calls worth showing.
        core: the positions of those that no order explains.
        reason: why none does; empty if some order does.
        anomaly: the class of what was observed.
    """

    calls: tuple[Call, ...]
    core: tuple[int, ...] = ()
    reason: str = ""
    anomaly: Anomaly | None = None


def explained(
    program: Program, execution: Execution[Outcome], final_reads: Sequence[Operation], strict_errors: bool
) -> Explained:
    """The calls of the execution, and the argument why they are impossible."""
    history = history_of(program, execution, final_reads)
    verdict = check_linearizable(history, strict_errors=strict_errors, budget=_BUDGET)
    if verdict.status is not Status.VIOLATION:
        return Explained(tuple(call for call in history.calls if call.thread >= 0))
    in_core = {id(call) for call in verdict.core}
    calls = tuple(call for call in history.calls if call.thread >= 0 or id(call) in in_core or call.operation.is_write)
    core = tuple(position for position, call in enumerate(calls) if id(call) in in_core)
    return Explained(calls, core, verdict.reason, verdict.anomaly)


def _alone(thread: int, operations: Sequence[Op], outcomes: Sequence[Outcome], begun: int) -> list[Call[Op]]:
    return [
        Call(thread, operation, begun + 2 * position, begun + 2 * position + 1, outcome)
        for position, (operation, outcome) in enumerate(zip(operations, outcomes, strict=False))
    ]
