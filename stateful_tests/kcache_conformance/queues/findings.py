"""What a reader gets to see of a queue that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from kcache_model.finding import Finding, FindingKind
from kcache_model.outcomes import Outcome as Text
from kcache_model.queues.codec import decode_program, encode_program
from kcache_model.queues.linearizable import FINAL_THREAD, QueueCall
from kcache_model.queues.minimise import minimise
from kcache_model.queues.operations import CallName
from kcache_model.queues.outcomes import ErrorKind, Outcome
from kcache_model.queues.program import QueueProgram
from kcache_model.queues.script import call_text, script
from kcache_stress.explorer.replay_token import ReplayToken, TokenFormat

from .sequential import Mismatch

QueueToken: TypeAlias = ReplayToken[QueueProgram]

TOKENS: Final = TokenFormat[QueueProgram]("kq1.", encode_program, decode_program)


@dataclass(frozen=True)
class Setting:
    """What is the same for all findings of a run.

    Attributes:
        target: name of the implementation.
        strict_errors: ask for kcache's error types.
        instrument: further packages that the explorer instruments.
    """

    target: str
    strict_errors: bool = False
    instrument: tuple[str, ...] = ()

    def token(self, program: QueueProgram, kind: FindingKind) -> QueueToken:
        """What it takes to see a finding again that has no schedule."""
        return QueueToken(self.target, program, kind, strict_errors=self.strict_errors, instrument=self.instrument)


def kind_of(mismatch: Mismatch) -> FindingKind:
    """What sort of violation it is."""
    if mismatch.observed.waits:
        return FindingKind.HANG
    if mismatch.observed.error is not None and mismatch.expected.error is None:
        return FindingKind.EXCEPTION
    return FindingKind.DIVERGENCE


def sequential_finding(
    setting: Setting,
    phase: str,
    mismatch: Mismatch,
    run_again: Callable[[QueueProgram], Mismatch | None],
    on_finding: Callable[[Finding], None] = lambda _: None,
    *,
    seconds: float = 5.0,
    title: str = "",
    scenario: str | None = None,
) -> Finding:
    """The finding of the smallest program that shows a mismatch of the same kind."""
    on_finding(_told(setting, phase, mismatch, title, scenario))
    best = mismatch

    def fails(candidate: QueueProgram) -> bool:
        nonlocal best
        found = run_again(candidate)
        if found is None or kind_of(found) is not kind_of(mismatch):
            return False
        best = found
        return True

    # What was reached is shorter than what was to be done: start from there.
    minimise(mismatch.program, fails, seconds=seconds)
    return _told(setting, phase, best, title, scenario)


def _told(setting: Setting, phase: str, mismatch: Mismatch, title: str, scenario: str | None) -> Finding:
    program, kind = mismatch.program, kind_of(mismatch)
    position = len(program.prefix) - 1
    observed = "did not return" if mismatch.observed.waits else f"gave {mismatch.observed}"
    why = f" ({title})" if title else ""
    token = setting.token(program, kind)
    return Finding(
        kind,
        phase,
        f"{call_text(program.prefix[position])} {observed}; expected: {mismatch.expected}{why}",
        expected=as_text(mismatch.expected),
        observed=as_text(mismatch.observed),
        detail=mismatch.stacks,
        scenario=scenario,
        schedule=TOKENS.encode(token),
        script=script(program, setting.target, {(-1, position): f"{observed}; expected: {mismatch.expected}"}),
    )


def concurrent_finding(
    setting: Setting,
    phase: str,
    kind: FindingKind,
    summary: str,
    program: QueueProgram,
    calls: Sequence[QueueCall] = (),
    *,
    token: QueueToken | None = None,
    interleaving: str = "",
    detail: str = "",
    expected: Outcome | None = None,
    observed: Outcome | None = None,
) -> Finding:
    """The finding of a program with several threads, with what each call gave."""
    remarks = {(call.thread, call.position): _remark(call) for call in calls if _is_telling(call)}
    token = token or setting.token(program, kind)
    return Finding(
        kind,
        phase,
        summary,
        expected=None if expected is None else as_text(expected),
        observed=None if observed is None else as_text(observed),
        detail=detail,
        schedule=TOKENS.encode(token),
        interleaving=interleaving,
        script=script(program, setting.target, remarks),
    )


def as_text(outcome: Outcome) -> Text:
    """An outcome of a queue in the form of findings."""
    return Text(value=str(outcome))


def _is_telling(call: QueueCall) -> bool:
    """Whether a reader wants to know what the call gave."""
    is_last = call.thread == FINAL_THREAD
    if is_last and call.outcome.error is ErrorKind.CLOSED:
        return False
    return call.outcome.error is not None or call.outcome.value is not None


def _remark(call: QueueCall) -> str:
    if call.called.name is CallName.KNOWN:
        return f"the consumer has stored {call.outcome}"
    gave = f"gave {call.outcome}"
    return f"{call_text(call.called)} {gave}" if call.thread == FINAL_THREAD else gave
