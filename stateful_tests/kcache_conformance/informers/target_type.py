"""Informers, described for the suite."""

from __future__ import annotations

from typing import Any

from kcache_model.finding import Finding, FindingKind
from kcache_stress.explorer.execution import Problem

from ..gallery import informer_gallery
from ..suite_options import SuiteOptions
from ..target_type import Stopped, TargetType, TokenOrigin
from .findings import finding_of
from .hunting import from_note
from .phases import PHASES
from .replaying import replay_word
from .target import InformerTarget, load_informer_target, make_informer_target
from .word import PREFIX, InformerToken, decode_token


def _load(target: Any) -> InformerTarget:
    if isinstance(target, str):
        return load_informer_target(target)
    return make_informer_target(target, getattr(target, "__qualname__", repr(target)))


def _stopped(stopped: Stopped) -> Finding:
    """The whole process froze or ended: what was going on then is all there is."""
    kind = FindingKind.HANG if stopped.is_hang else FindingKind.CRASH
    did = f"did not return within {stopped.options.patience_seconds:g} s" if stopped.is_hang else "ended the process"
    program = from_note(stopped.note)
    if program is None:
        return Finding(kind, stopped.phase, f"making the informer {did}", detail=stopped.detail)
    token = InformerToken(stopped.name, program, kind, instrument=stopped.options.instrument)
    return finding_of(stopped.phase, Problem(kind, f"a call of the informer {did}"), token, detail=stopped.detail)


def _origin(word: str) -> TokenOrigin:
    token = decode_token(word)
    return TokenOrigin(token.target, SuiteOptions(kind=INFORMER.name, instrument=token.instrument))


INFORMER = TargetType(
    name="informer",
    summary="a cache that follows an API server, and its handlers",
    reference="kcache.informers:SharedIndexInformer",
    phases=PHASES,
    load=_load,
    not_tested=lambda target: tuple(sorted(target.unsupported)),
    stopped=_stopped,
    examples=informer_gallery,
    prefix=PREFIX,
    replay=replay_word,
    origin=_origin,
)
