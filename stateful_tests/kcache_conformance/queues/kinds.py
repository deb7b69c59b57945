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

from ..kind import Kind, Stopped
from .findings import Setting
from .phases import PHASES, run_phase
from .replaying import replay_word
from .target import QueueTarget, load_queue_target, make_queue_target
from .word import PREFIX, decode_token, encode_token


def _kind(kind: QueueKind, summary: str, reference: str) -> Kind:
    def load(target: Any) -> QueueTarget:
        return load_queue_target(target, kind) if isinstance(target, str) else make_queue_target(target, kind)

    return Kind(
        name=kind.value,
        summary=summary,
        reference=reference,
        phases=PHASES,
        load=load,
        not_tested=lambda target: tuple(sorted(target.unsupported)),
        run_phase=run_phase,
        stopped=_stopped,
        prefix=PREFIX,
        replay=replay_word,
        target_of_word=lambda word: decode_token(word).target,
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
    did = f"did not return within {stopped.patience_seconds:g} s" if stopped.is_hang else "ended the process"
    finding = Finding(kind, stopped.phase, f"{what} {did}", observed=Outcome(value=did), detail=stopped.detail)
    if program is None:
        return finding
    setting = Setting(stopped.spec, stopped.strict_errors, stopped.instrument)
    return replace(finding, schedule=encode_token(setting.token(program, kind)), script=script(program, stopped.spec))


def _program(note: str) -> QueueProgram | None:
    try:
        return decode_program(json.loads(note))
    except (FormatError, ValueError):
        return None


FIFO = _kind(QueueKind.FIFO, "the newest object of each key", "kcache.queues:FIFO")
DELTA_FIFO = _kind(QueueKind.DELTA_FIFO, "changes, gathered by key", "kcache.queues:DeltaFIFO")
REAL_FIFO = _kind(QueueKind.REAL_FIFO, "changes in the order in which they came", "kcache.queues:RealFIFO")
