"""Informers as a target type of the suite."""

from __future__ import annotations

from typing import Any, Final

from kcache_model.codec import Codec
from kcache_model.errors import FormatError, TargetError
from kcache_model.finding import Finding, FindingKind
from kcache_model.informers.program import InformerProgram
from kcache_model.rules import common_rules, rules_in

from ..targets.gallery import informer_gallery
from ..targets.imported_late import imported_late
from ..targets.target_type import Exploring, Stopped, TargetType
from .findings import TOKENS, InformerToken, finding_of
from .random_programs import random_program
from .target import load_informer_target

_PHASES: Final = ("smoke", "litmus", "stateful", "explorer", "stress")
"""The names of the phases, in the order in which they run."""


def _stopped(stopped: Stopped) -> Finding:
    """Return the finding if the whole process hung or ended; it contains the program that was running."""
    from kcache_stress.engine.execution import Problem

    from .real import from_note

    kind = FindingKind.HANG if stopped.is_hang else FindingKind.CRASH
    did = f"did not return within {stopped.options.patience_seconds:g} s" if stopped.is_hang else "ended the process"
    program = from_note(stopped.note)
    if program is None:
        return Finding(kind, stopped.phase, f"creating the informer {did}", detail=stopped.detail)
    token = InformerToken(stopped.name, program, kind, instrument=stopped.options.instrument)
    return finding_of(stopped.phase, Problem(kind, f"a call of the informer {did}"), token, detail=stopped.detail)


def _no_call(_: object) -> Any:
    raise FormatError("findings about informers have no calls")


def _nothing_small(*_: object) -> Any:
    raise TargetError("informers have no small scope: kcache explore --type informer samples their programs")


EXPLORING = Exploring(
    exploration_target=imported_late(f"{__package__}.informer_exploration:informer_exploration_target"),
    stand_in=lambda spec, _: spec,
    random_program=lambda _target, seed, _shape, _options: random_program(seed),
    programs=_nothing_small,
    small_scope=_nothing_small,
    count=_nothing_small,
)

INFORMER = TargetType(
    name="informer",
    summary="a cache that follows an API server, and its handlers",
    reference="kcache.informers:SharedIndexInformer",
    phases={name: imported_late(f"{__package__}.phases:{name}") for name in _PHASES},
    load=load_informer_target,
    not_tested=lambda target: tuple(sorted(target.unsupported)),
    stopped=_stopped,
    examples=informer_gallery,
    codec=Codec(InformerProgram.encode, InformerProgram.decode, _no_call, _no_call),
    tokens=TOKENS,
    exploring=EXPLORING,
    replay=imported_late(f"{__package__}.replaying:replay_token"),
    rules={**common_rules(), **rules_in("kcache_model.informers")},
)
