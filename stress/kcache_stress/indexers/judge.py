"""Judge of recordings from real threads: creates a finding if a recording is wrong."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from kcache_model.finding import Finding, FindingKind
from kcache_model.indexers.check import check_linearizable
from kcache_model.indexers.program import Program
from kcache_model.linearizability import SearchBudget
from kcache_model.outcomes import ErrorKind
from kcache_model.verdict import Status, Verdict

from .evidence import calls_to_show, cut_down, latest_calls
from .recorder import Recording
from .session import Played

_PHASE = "stress"

_BUDGET = SearchBudget(seconds=600.0, steps=200_000)
"""The limit of steps comes first, so that no verdict depends on the machine. The limit of time is a safeguard."""


class Answer(enum.Enum):
    """Answer of the judge to one round."""

    FINE = enum.auto()
    WRONG = enum.auto()
    UNDECIDED = enum.auto()


@dataclass(frozen=True)
class Judgement:
    """The answer; and the finding if the answer is ``WRONG``."""

    answer: Answer
    finding: Finding | None = None


def judge(program: Program, recording: Recording, *, strict_errors: bool = False) -> Judgement:
    """Judge a recording: detect hangs, then histories that are not linearizable, then broken invariants."""
    if recording.hung:
        return _found(hang(program, recording))
    verdict = check_linearizable(recording.history, strict_errors=strict_errors, budget=_BUDGET)
    if verdict.status is Status.VIOLATION:
        return _found(_unexplained(program, recording, verdict))
    if recording.broken:
        return _found(broken_rule(program, recording))
    return Judgement(Answer.FINE if verdict.status is Status.OK else Answer.UNDECIDED)


def judge_stretch(played: Played, *, strict_errors: bool = False) -> Judgement:
    """Judge a stretch: as :func:`judge`, but the monitor of the session has already decided whether it is linearizable.

    The check runs only if the monitor reported a violation, to determine the core. If the check itself shows no
    violation, the finding has no core.
    """
    program, recording = played.program, played.recording
    if recording.hung:
        return _found(hang(program, recording))
    if played.status is Status.VIOLATION:
        verdict = check_linearizable(recording.history, strict_errors=strict_errors, budget=_BUDGET)
        if verdict.status is Status.VIOLATION:
            return _found(_unexplained(program, recording, verdict))
        summary = (
            "no sequential order of these calls explains their results, if the earlier content of the store is known"
        )
        return _found(_finding(FindingKind.NONLINEARIZABLE, summary, program, recording))
    if recording.broken:
        return _found(broken_rule(program, recording))
    return Judgement(Answer.FINE if played.status is Status.OK else Answer.UNDECIDED)


def hang(program: Program, recording: Recording) -> Finding:
    """Return the finding for threads that made no progress until the patience ended."""
    pending = [call.operation.name.value for call in recording.history.calls if call.returned is None]
    names = " and ".join(sorted(pending)) if pending else "their work"
    summary = f"the threads made no progress; {names} did not return"
    return _finding(FindingKind.HANG, summary, program, recording, recording.hung)


def broken_rule(program: Program, recording: Recording) -> Finding:
    """Return the finding for an Indexer that broke an invariant; the summary describes the first broken rule."""
    summary = f"after the threads had ended: {recording.broken[0]}"
    found = _finding(FindingKind.INVARIANT, summary, program, recording, "\n".join(map(str, recording.broken[1:])))
    return replace(found, rule=recording.broken[0].rule)


def _unexplained(program: Program, recording: Recording, verdict: Verdict) -> Finding:
    history = recording.history
    strange = [call for call in verdict.core if call.outcome and call.outcome.error is ErrorKind.OTHER]
    kind = FindingKind.EXCEPTION if strange else FindingKind.NONLINEARIZABLE
    in_core = {id(call) for call in verdict.core}
    calls = calls_to_show(history, verdict.core)
    core = tuple(position for position, call in enumerate(calls) if id(call) in in_core)
    program = cut_down(program, history, calls)
    return Finding(kind, _PHASE, verdict.reason, program, calls=tuple(calls), core=core, anomaly=verdict.anomaly)


def _finding(kind: FindingKind, summary: str, program: Program, recording: Recording, detail: str = "") -> Finding:
    calls = latest_calls(recording.history)
    program = cut_down(program, recording.history, calls)
    return Finding(kind, _PHASE, summary, program, calls=tuple(calls), detail=detail)


def _found(finding: Finding) -> Judgement:
    return Judgement(Answer.WRONG, finding)
