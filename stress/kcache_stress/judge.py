"""From a recording to a finding."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kcache_model.finding import Finding, FindingKind
from kcache_model.linearizability import SearchBudget, check_linearizable
from kcache_model.outcomes import ErrorKind
from kcache_model.program import Program
from kcache_model.verdict import Status

from .recorder import Recording

_BUDGET = SearchBudget(seconds=2.0, steps=200_000)


class Answer(enum.Enum):
    """What is to be said of one round."""

    FINE = enum.auto()
    WRONG = enum.auto()
    UNDECIDED = enum.auto()


@dataclass(frozen=True)
class Judgement:
    """The answer, and the finding where something is wrong."""

    answer: Answer
    finding: Finding | None = None


def judge(program: Program, recording: Recording, *, strict_errors: bool = False) -> Judgement:
    """Whether the model explains what was recorded."""
    if recording.hung:
        return _wrong(
            FindingKind.HANG,
            f"the threads stopped answering; {_pending(recording)} never returned",
            program,
            recording,
            detail=recording.hung,
        )
    verdict = check_linearizable(recording.history, strict_errors=strict_errors, budget=_BUDGET)
    if verdict.status is Status.VIOLATION:
        strange = [call for call in verdict.core if call.outcome and call.outcome.error is ErrorKind.OTHER]
        kind = FindingKind.EXCEPTION if strange else FindingKind.NONLINEARIZABLE
        in_core = {id(call) for call in verdict.core}
        last = max(call.returned or call.invoked for call in verdict.core)
        calls = [
            call
            for call in recording.history.calls
            if id(call) in in_core or (call.operation.is_write and call.invoked <= last)
        ]
        core = tuple(position for position, call in enumerate(calls) if id(call) in in_core)
        return Judgement(Answer.WRONG, Finding(kind, "stress", verdict.reason, program, calls=tuple(calls), core=core))
    if recording.broken:
        return _wrong(
            FindingKind.INVARIANT,
            f"after the threads had ended: {recording.broken[0]}",
            program,
            recording,
            detail="\n".join(recording.broken[1:]),
        )
    return Judgement(Answer.FINE if verdict.status is Status.OK else Answer.UNDECIDED)


def _wrong(kind: FindingKind, summary: str, program: Program, recording: Recording, detail: str) -> Judgement:
    calls = tuple(call for call in recording.history.calls if call.thread >= 0)
    return Judgement(Answer.WRONG, Finding(kind, "stress", summary, program, calls=calls, detail=detail))


def _pending(recording: Recording) -> str:
    pending = [call.operation.name.value for call in recording.history.calls if call.returned is None]
    return " and ".join(sorted(pending)) if pending else "their work"
