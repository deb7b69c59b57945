"""Whether some order of the calls of several threads on a queue explains what they gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..linearizability.search import SearchBudget, SearchResult, search_linearization
from ..verdict import Status
from .models import model_of
from .operations import Operation
from .outcomes import Outcome
from .program import QueueProgram
from .queue_model import QueueModel, States
from .script import call_text

PREFIX_THREAD = -1
"""The number of the thread that does what comes before the threads."""

FINAL_THREAD = -2
"""The number of the thread that reads everything back."""


@dataclass(frozen=True, slots=True)
class QueueCall:
    """One call from its invocation to its response.

    Attributes:
        thread: which thread made it.
        position: which of its calls.
        called: what was called.
        invoked: when it began; any integer clock that all threads share.
        returned: when it ended.
        outcome: what it gave.
    """

    thread: int
    position: int
    called: Operation
    invoked: int
    returned: int
    outcome: Outcome

    @property
    def operation(self) -> _Observed:
        """The operation with what it gave, which decides what the specification leaves open."""
        return _Observed(self.called, self.outcome)


@dataclass(frozen=True, slots=True)
class _Observed:
    operation: Operation
    outcome: Outcome

    @property
    def is_write(self) -> bool:
        return self.operation.is_write


@dataclass(frozen=True, slots=True)
class _Following:
    """The specification, told what was observed."""

    model: QueueModel

    def apply(self, states: States, observed: _Observed, /) -> tuple[States, Outcome]:
        return self.model.apply(states, observed.operation, observed.outcome)


@dataclass(frozen=True)
class QueueVerdict:
    """The answer.

    Attributes:
        status: OK, VIOLATION, or UNKNOWN if the budget ran out.
        reason: why no order explains the calls.
        wrong: the call that no order explains, where that can be told.
        expected: what that call gives in the order that gets furthest.
    """

    status: Status
    reason: str = ""
    wrong: QueueCall | None = None
    expected: Outcome | None = None


def check_calls(
    program: QueueProgram,
    calls: Sequence[QueueCall],
    *,
    strict_errors: bool = False,
    budget: SearchBudget | None = None,
) -> QueueVerdict:
    """Whether some order of the calls, each between its invocation and its response, explains all outcomes."""
    following = _Following(model_of(program.kind, program.options))
    initial = following.model.initial(program.known)

    def agrees(observed: Outcome, expected: Outcome) -> bool:
        return not expected.waits and observed.agrees_with(expected, strict_errors=strict_errors)

    result: SearchResult = search_linearization(following, initial, calls, budget or SearchBudget(), agrees)
    if result.status is not Status.VIOLATION:
        return QueueVerdict(result.status)
    state = initial
    for position in result.order:
        state, _ = following.apply(state, calls[position].operation)
    left = [call for position, call in enumerate(calls) if position not in result.order]
    wrong = min(left, key=lambda call: call.returned)
    _, expected = following.apply(state, wrong.operation)
    return QueueVerdict(Status.VIOLATION, _reason(calls, result.order, wrong, expected), wrong, expected)


def _reason(calls: Sequence[QueueCall], order: Sequence[int], wrong: QueueCall, expected: Outcome) -> str:
    own = ", ".join(call_text(calls[position].called) for position in order)
    after = f"after {own}" if own else "on the new queue"
    whose = (
        f" of thread {wrong.thread + 1}"
        if wrong.thread >= 0
        else " after the threads ended" * (wrong.thread == FINAL_THREAD)
    )
    would = "would wait" if expected.waits else f"gives {expected}"
    return (
        f"{call_text(wrong.called)}{whose} gave {wrong.outcome}, which no order of the calls allows; the order that "
        f"gets furthest: {after} it {would}"
    )
