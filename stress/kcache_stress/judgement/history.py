"""History of an execution: its calls as they overlapped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from kcache_model.call_program import CallProgram, Cancelled
from kcache_model.history import FINAL_THREAD, PREFIX_THREAD, Call
from kcache_model.outcomes import CANCELLED, NOT_BEGUN, WAITS, Outcome

from ..engine.execution import Execution, Mark
from ..engine.orders import marks_in_order

Op = TypeVar("Op")


def calls_of(
    program: CallProgram[Op],
    execution: Execution[Outcome],
    final: Sequence[Op],
    marks: Sequence[Mark] | None = None,
    *,
    with_waiting: bool = False,
) -> tuple[Call[Op], ...]:
    """Return the calls of an execution in the order of their beginnings, including calls before and after the threads.

    A call that was cancelled is pending: it may have taken effect or not. If it must not, its outcome says so.

    Args:
        program: the operations.
        execution: their outcomes.
        final: the operations that were read back.
        marks: the beginnings and ends of the calls in another order; by default, the order in which they happened.
        with_waiting: whether calls that still wait at the end are included. They begin as early as possible.
    """
    calls = _alone(PREFIX_THREAD, program.prefix, execution.prefix, 0)
    begun = 2 * len(calls)
    threads = [
        (thread, operation, outcome)
        for thread, outcomes in enumerate(execution.outcomes)
        for operation, outcome in zip(program.threads[thread], outcomes, strict=False)
    ]
    ticks = {mark: begun + tick for tick, mark in enumerate(marks_in_order(execution) if marks is None else marks)}
    for position, (thread, operation, outcome) in enumerate(threads):
        if outcome == CANCELLED:
            is_strict = getattr(program, "cancelled", Cancelled.USUAL) is Cancelled.STRICT
            calls.append(Call(thread, operation, ticks[position + 1], None, CANCELLED if is_strict else None))
        elif outcome != NOT_BEGUN:
            calls.append(Call(thread, operation, ticks[position + 1], ticks[-position - 1], outcome))
    for thread, outcomes in enumerate(execution.outcomes if with_waiting else ()):
        for operation in program.threads[thread][len(outcomes) :][:1]:
            earlier = [call.returned for call in calls if call.thread == thread and call.returned is not None]
            calls.append(Call(thread, operation, max(earlier, default=begun), None, WAITS))
    calls += _alone(FINAL_THREAD, final, execution.final, begun + len(ticks))
    return tuple(sorted(calls, key=lambda call: call.invoked))


def _alone(thread: int, operations: Sequence[Op], outcomes: Sequence[Outcome], begun: int) -> list[Call[Op]]:
    return [
        Call(thread, operation, begun + 2 * position, begun + 2 * position + 1, outcome)
        for position, (operation, outcome) in enumerate(zip(operations, outcomes, strict=False))
    ]
