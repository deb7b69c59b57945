"""Findings of object types: created from a program, its calls, and the verdict of the checker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from kcache_model.finding import Finding, FindingKind
from kcache_model.history import FINAL_THREAD, Call
from kcache_model.interleaving import Interleaving
from kcache_model.object_types.checking import CallsVerdict
from kcache_model.object_types.object_type import ObjectType
from kcache_model.outcomes import unexplained_text
from kcache_model.places import place_in

from ..target.replay_token import ReplayToken, TokenFormat


def token_format(object_type: ObjectType) -> TokenFormat[Any]:
    """The format of the replay tokens of an object type."""
    return TokenFormat(object_type.token_prefix, object_type.codec.encode_program, object_type.codec.decode_program)


@dataclass(frozen=True)
class Setting:
    """The data that all findings of a run share.

    Attributes:
        object_type: of the target.
        target: the name of the target.
        strict_errors: whether errors must be exactly those of the specification.
        instrument: further packages that the explorer instruments.
        is_strict: whether the target is judged by the strict contract.
    """

    object_type: ObjectType
    target: str
    strict_errors: bool = False
    instrument: tuple[str, ...] = ()
    is_strict: bool = False

    def token(self, program: Any, kind: FindingKind) -> ReplayToken[Any]:
        """Create the replay token of a finding that has no schedule."""
        return ReplayToken(
            self.target,
            program,
            kind,
            instrument=self.instrument,
            strict_errors=self.strict_errors,
            is_strict=self.is_strict,
        )


def concurrent_finding(
    setting: Setting,
    phase: str,
    kind: FindingKind,
    summary: str,
    program: Any,
    calls: Sequence[Call[Any]] = (),
    verdict: CallsVerdict | None = None,
    *,
    token: ReplayToken[Any] | None = None,
    interleaving: Interleaving | None = None,
    detail: str = "",
    rule: str = "",
    unconfirmed: str = "",
) -> Finding:
    """Create the finding of a program with several threads.

    Args:
        setting: of the run.
        phase: the phase that found it.
        kind: the kind of violation.
        summary: one sentence that describes the failure.
        program: the calls of the threads.
        calls: the history: each call with its outcome and its interval.
        verdict: the verdict of the checker about the history.
        token: the replay token; by default a token without a schedule.
        interleaving: the description of the schedule.
        detail: further lines.
        rule: the id of the broken rule, if more is known than the kind.
        unconfirmed: why it may be an artefact of kcache.
    """
    wrong = None if verdict is None else verdict.wrong
    core = () if verdict is None else verdict.accused
    return Finding(
        kind,
        phase,
        summary,
        program,
        expected=None if verdict is None else verdict.expected,
        observed=None if wrong is None else wrong.outcome,
        location="" if wrong is None or wrong.outcome is None else place_in(wrong.outcome.frames),
        calls=tuple(calls),
        core=tuple(at for at, call in enumerate(calls) if any(_is_same(call, other) for other in core)),
        order=() if verdict is None else verdict.order,
        detail=detail,
        schedule=token_format(setting.object_type).encode(token or setting.token(program, kind)),
        interleaving=None if interleaving is None else _marked(interleaving, calls, wrong),
        anomaly=None if verdict is None else verdict.anomaly,
        unconfirmed=unconfirmed,
        rule=rule,
        script=setting.object_type.script(program, setting.target, _remarks(calls)),
    )


def _marked(told: Interleaving, calls: Sequence[Call[Any]], wrong: Call[Any] | None) -> Interleaving:
    """Return the interleaving with its mark at the call ``wrong``; if the mark moves, the summary changes, too."""
    at = None if wrong is None else call_in(told, calls, wrong)
    if at is None or at == told.wrong_call:
        return told
    summary = told.summary if told.wrong_call is None else unexplained_text(told.calls[at].text)
    return replace(told, wrong_call=at, summary=summary)


def call_in(told: Interleaving, calls: Sequence[Call[Any]], one: Call[Any]) -> int | None:
    """Return the position of a call in an interleaving; ``None`` if the interleaving does not contain the call."""
    earlier = sum(call.thread == one.thread and call.invoked < one.invoked for call in calls)
    own = [at for at, call in enumerate(told.calls) if call.thread == one.thread]
    return own[earlier] if earlier < len(own) else None


def _is_same(call: Call[Any], wrong: Call[Any]) -> bool:
    """Whether both are the same call. The operations may differ: the checker may have added the caller to one."""
    return (call.thread, call.invoked) == (wrong.thread, wrong.invoked)


def _remarks(calls: Sequence[Call[Any]]) -> dict[tuple[int, int], str]:
    """Return the remark for each call that returned a value or raised: (thread, position in the thread) -> text."""
    made: Counter[int] = Counter()
    remarks = {}
    for call in sorted(calls, key=lambda call: call.invoked):
        position = made[call.thread]
        made[call.thread] += 1
        outcome = call.outcome
        if outcome is None or (outcome.error is None and outcome.value is None):
            continue
        is_last = call.thread == FINAL_THREAD
        remarks[call.thread, position] = f"{call.operation} gave {outcome}" if is_last else f"gave {outcome}"
    return remarks
