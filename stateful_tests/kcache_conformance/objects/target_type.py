"""The target type of an object type."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from kcache_model.errors import FormatError
from kcache_model.finding import Finding, FindingKind
from kcache_model.object_types.object_type import ObjectType
from kcache_model.outcomes import Outcome
from kcache_stress.objects.findings import Setting, token_format
from kcache_stress.objects.target import load_object_target

from ..gallery import Example
from ..target_type import Stopped, TargetType
from .phases import phases
from .replaying import replay_token


def target_type(object_type: ObjectType, examples: Callable[[], Sequence[Example]] = lambda: ()) -> TargetType:
    """What the suite needs to know of an object type.

    Args:
        object_type: the type.
        examples: faulty and correct targets.
    """
    return TargetType(
        name=object_type.name,
        summary=object_type.summary,
        reference=object_type.reference,
        phases=phases(object_type),
        load=partial(load_object_target, object_type),
        not_tested=lambda target: tuple(sorted(target.unsupported)),
        stopped=partial(_stopped, object_type),
        examples=examples,
        codec=object_type.codec,
        tokens=token_format(object_type),
        replay=partial(replay_token, object_type),
        owns=object_type.owns,
    )


def _stopped(object_type: ObjectType, stopped: Stopped) -> Finding:
    """A call froze or ended the whole process: what was being done then is all there is."""
    kind = FindingKind.HANG if stopped.is_hang else FindingKind.CRASH
    program = _program(object_type, stopped.note)
    if program is None:
        what = f"the {object_type.called} could not even be made"
    else:
        what = str(program.prefix[-1]) if not program.threads and program.prefix else "a call"
    did = f"did not return within {stopped.options.patience_seconds:g} s" if stopped.is_hang else "ended the process"
    finding = Finding(kind, stopped.phase, f"{what} {did}", observed=Outcome(value=did), detail=stopped.detail)
    if program is None:
        return finding
    setting = Setting(object_type, stopped.name, stopped.options.strict_errors, stopped.options.instrument)
    token = token_format(object_type).encode(setting.token(program, kind))
    return replace(finding, program=program, schedule=token, script=object_type.script(program, stopped.name, {}))


def _program(object_type: ObjectType, note: str) -> Any:
    try:
        return object_type.codec.decode_program(json.loads(note))
    except (FormatError, ValueError, TypeError, KeyError):
        return None
