"""A target type: what the suite needs to know to hold a target against its specification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from kcache_model.bound import Bound
from kcache_model.codec import Codec
from kcache_model.finding import Finding
from kcache_model.indexers.items import Semantics
from kcache_model.object_types.specification import Specification
from kcache_model.progress import ProgressListener
from kcache_model.rules import Rule, common_rules

from .gallery import Example
from .isolation import JobEnd
from .phase import Phase
from .suite_options import SuiteOptions

if TYPE_CHECKING:  # what a type is made of is loaded where it is used
    from kcache_stress.engine.granularity import Granularity
    from kcache_stress.target.exploration_target import ExplorationTarget
    from kcache_stress.target.replay_answer import Replayed
    from kcache_stress.target.replay_token import ReplayToken, TokenFormat

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
        detail: the stacks, or the end of the error output.
        options: of the run.
    """

    spec: str | None
    is_hang: bool
    phase: str
    note: str
    detail: str
    options: SuiteOptions

    @property
    def name(self) -> str:
        """The name of the target, or what stands for it."""
        return self.spec or "<local factory>"


def _as_loaded(target: Any, options: SuiteOptions) -> Any:  # noqa: ARG001
    return target


@dataclass(frozen=True)
class Exploring:
    """What the explorer's commands need of a target type.

    Attributes:
        exploration_target: of the target of a name, with further packages to instrument, at a granularity. Raises
            TargetError, CannotExploreError.
        stand_in: a target by name and what it does not offer, for who only asks that: it makes nothing.
        random_program: for a target, a seed, a shape (threads and operations of each at most), and semantics.
        programs: a Hypothesis strategy for a target, semantics, fewest and most threads and operations. Raises
            TargetError.
        small_scope: all programs of a bound for a target and semantics, until a deadline on ``time.monotonic``.
        count: how many these are; ``None`` if they cannot be counted in time.
        lonely_calls: programs of one call each that are explored before random ones: it may wait for ever.
        only: the one program that there is; ``None`` if there are more.
        walk: see :class:`~kcache_stress.target.explore.ExploreOptions`.
    """

    exploration_target: Callable[[str, tuple[str, ...], Granularity], ExplorationTarget[Any, Any]]
    stand_in: Callable[[str, frozenset[str]], Any]
    random_program: Callable[[Any, int, tuple[int, int], Semantics], Any]
    programs: Callable[[Any, Semantics, tuple[int, int], tuple[int, int]], Any]
    small_scope: Callable[[Bound, Any, Semantics, float], Iterator[Any]]
    count: Callable[[Bound, Any, Semantics, float], int | None]
    lonely_calls: Callable[[Any], Iterator[Any]] = lambda _: iter(())
    only: Any = None
    walk: int = 0


class Replays(Protocol):
    """How a token is replayed."""

    def __call__(self, token: ReplayToken[Any], watch: ProgressListener, seconds: float = ..., /) -> Replayed:
        """What became of the finding."""
        ...


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
        calls: the names of the calls that a target offers, if each must have returned for a run to be ``ok``.
        stopped: the finding for a target that hung or crashed.
        examples: the shipped ones, see :mod:`.gallery`.
        codec: how its programs are written in findings.
        tokens: how the replay tokens are written that its findings carry as ``schedule``.
        owns: whether a program is one of this type, where several types share a prefix of tokens.
        replay: shows again what such a token stands for; where its schedule fails no more, its program is searched for
            some seconds.
        declared: a target from a factory and what it does not offer; ``None`` if the factory alone says that. Raises
            TargetError.
        prepare: makes the first use of a loaded target, as the options ask. Raises TargetError.
        knows: the options that not all types have: ``semantics``, ``strict``, ``threads``.
        specification: of what a program makes, by which recordings are judged; ``None`` if they are judged otherwise.
        exact_errors: whether it counts in recordings which error a call gave.
        exploring: what the commands explore and verify need; ``None`` if its programs are explored by phases only.
        rules: id -> rule, of what its findings break.
        advised_against: the name of a call -> why threads are not to make it: what goes wrong with it is advice.
        advised: the same, of what only a loaded target shows.
        spare: the target, spared what these declarations stand for.
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
    replay: Replays
    owns: Callable[[Any], bool] = lambda _: True
    declared: Callable[[Any, Iterable[str]], Any] | None = None
    prepare: Callable[[Any, SuiteOptions], Any] = _as_loaded
    knows: frozenset[str] = frozenset()
    specification: Callable[[Any], Specification[Any, Any]] | None = None
    exact_errors: bool = False
    exploring: Exploring | None = None
    rules: Mapping[str, Rule] = field(default_factory=common_rules)
    advised_against: Mapping[str, str] = field(default_factory=dict)
    advised: Callable[[Any], Mapping[str, str]] = lambda _: {}
    spare: Callable[[Any, frozenset[str]], Any] = lambda target, _: target
    hash_seed: Callable[[int], int] = lambda _: 0
    calls: Callable[[Any], tuple[str, ...]] = lambda _: ()


def execution_stopped(
    target_type: TargetType,
    target: str,
    end: JobEnd,
    *,
    strict_errors: bool,
    instrument: tuple[str, ...],
    patience_seconds: float,
) -> Finding:
    """The finding for an execution under the explorer, or a replay, that hung or crashed in a child process."""
    options = SuiteOptions(
        kind=target_type.name, strict_errors=strict_errors, instrument=instrument, patience_seconds=patience_seconds
    )
    return target_type.stopped(Stopped(target, end.how == "hang", REPLAY, end.note, end.message, options))
