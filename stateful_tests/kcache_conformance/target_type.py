"""A target type: what the suite needs to know to hold a target against its specification."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kcache_model.codec import Codec
from kcache_model.finding import Finding
from kcache_model.program import Program
from kcache_model.watch import Watch
from kcache_stress.explorer.replay_token import ReplayToken, TokenFormat
from kcache_stress.explorer.replaying import Replayed

from .gallery import Example
from .phase import Phase
from .suite_options import SuiteOptions

REPLAY: Final = "replay"
"""The phase in which a token is replayed."""


@dataclass(frozen=True)
class Stopped:
    """A call that never returned, or that ended the process of the target.

    Attributes:
        spec: the name of the target; ``None`` if it has none.
        is_hang: whether it never returned.
        phase: which phase it was in.
        note: what the target was being asked, in the words of the phase.
        program: the same, of types whose phases tell programs.
        detail: the stacks, or the end of the error output.
        options: of the run.
    """

    spec: str | None
    is_hang: bool
    phase: str
    note: str
    program: Program | None
    detail: str
    options: SuiteOptions

    @property
    def name(self) -> str:
        """The name of the target, or what stands for it."""
        return self.spec or "<local factory>"


def _as_loaded(target: Any, options: SuiteOptions) -> Any:  # noqa: ARG001
    return target


@dataclass(frozen=True)
class TargetType:
    """A type of targets.

    All its functions run in a child process, but for ``stopped``.

    Attributes:
        name: what ``--type`` (or ``--kind``) takes.
        summary: what such a target is, in a few words.
        reference: the name of kcache's own.
        phases: name -> phase, in order; those that are not open-ended come first.
        load: the target of a name, or of a factory. Raises TargetError.
        not_tested: what the target does not offer.
        stopped: the finding for a target that hung or crashed.
        examples: the shipped ones, see :mod:`.gallery`.
        codec: how its programs are written in findings.
        tokens: how the replay tokens are written that its findings carry as ``schedule``.
        owns: whether a program is one of this type, where several types share a prefix of tokens.
        replay: shows again what such a token stands for.
        prepare: makes the first use of a loaded target, as the options ask. Raises TargetError.
        knows: the options that not all types have: ``semantics``, ``strict``.
        debug: stops in the debugger where the schedule of a token goes wrong; ``None`` if that cannot be done.
        hash_seed: the hash seed of the process in which it is tested, for a seed of the run.
    """

    name: str
    summary: str
    reference: str
    phases: Mapping[str, Phase]
    load: Callable[[Any], Any]
    not_tested: Callable[[Any], tuple[str, ...]]
    stopped: Callable[[Stopped], Finding]
    examples: Callable[[], Sequence[Example]]
    codec: Codec
    tokens: TokenFormat[Any]
    replay: Callable[[ReplayToken[Any], Watch], Replayed]
    owns: Callable[[Any], bool] = lambda _: True
    prepare: Callable[[Any, SuiteOptions], Any] = _as_loaded
    knows: frozenset[str] = frozenset()
    debug: Callable[[ReplayToken[Any]], None] | None = None
    hash_seed: Callable[[int], int] = lambda _: 0
