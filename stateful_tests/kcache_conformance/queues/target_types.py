"""The kinds of queues, described for the suite."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from kcache_model.errors import FormatError
from kcache_model.finding import Finding, FindingKind
from kcache_model.outcomes import Outcome
from kcache_model.queues.codec import decode_program
from kcache_model.queues.program import QueueKind, QueueProgram
from kcache_model.queues.script import call_text, script

from ..gallery import queue_gallery
from ..target_type import Stopped, TargetType
from .findings import TOKENS, Setting
from .phases import PHASES
from .replaying import replay_token
from .target import QueueTarget, load_queue_target, make_queue_target


def _target_type(kind: QueueKind, summary: str, reference: str) -> TargetType:
    def load(target: Any) -> QueueTarget:
        return load_queue_target(target, kind) if isinstance(target, str) else make_queue_target(target, kind)

    return TargetType(
        name=kind.value,
        summary=summary,
        reference=reference,
        phases=PHASES,
        load=load,
        not_tested=lambda target: tuple(sorted(target.unsupported)),
        stopped=_stopped,
        examples=lambda: queue_gallery(kind.value),
        tokens=TOKENS,
        replay=replay_token,
    )


def _stopped(stopped: Stopped) -> Finding:
    """A call froze or ended the whole process: what was being done then is all there is."""
    kind = FindingKind.HANG if stopped.is_hang else FindingKind.CRASH
    program = _program(stopped.note)
    if program is None:
        what = "the queue could not even be made"
    else:
        last = next(reversed([*program.operations()]), None)
        is_one = program.is_sequential and last is not None
        what = call_text(last) if is_one and last is not None else "a call"
    did = f"did not return within {stopped.options.patience_seconds:g} s" if stopped.is_hang else "ended the process"
    finding = Finding(kind, stopped.phase, f"{what} {did}", observed=Outcome(value=did), detail=stopped.detail)
    if program is None:
        return finding
    setting = Setting(stopped.name, stopped.options.strict_errors, stopped.options.instrument)
    return replace(finding, schedule=TOKENS.encode(setting.token(program, kind)), script=script(program, stopped.name))


def _program(note: str) -> QueueProgram | None:
    try:
        return decode_program(json.loads(note))
    except (FormatError, ValueError):
        return None


FIFO = _target_type(QueueKind.FIFO, "the newest object of each key", "kcache.queues:FIFO")
DELTA_FIFO = _target_type(QueueKind.DELTA_FIFO, "changes, gathered by key", "kcache.queues:DeltaFIFO")
REAL_FIFO = _target_type(QueueKind.REAL_FIFO, "changes in the order in which they came", "kcache.queues:RealFIFO")
