"""Target types: the functions and data that the suite needs to compare a target with its specification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from kcache_model.bound import Bound
from kcache_model.codec import Codec
from kcache_model.finding import Finding
from kcache_model.progress import ProgressListener
from kcache_model.rules import Rule, common_rules

from ..isolation import JobEnd
from ..phases.phase import Phase
from ..phases.suite_options import SuiteOptions
from .gallery import Example
from .judged_recording import RecordingJudge

if TYPE_CHECKING:  # the parts of a type are imported where they are used
    from kcache_stress.engine.granularity import Granularity
    from kcache_stress.target.exploration_target import ExplorationTarget
    from kcache_stress.target.replay_answer import Replayed
    from kcache_stress.target.replay_token import ReplayToken, TokenFormat

REPLAY: Final = "replay"
"""The name of the phase in which a token is replayed."""


@dataclass(frozen=True)
class Stopped:
    """A call that never returned, or that ended the process of the target.

    Attributes:
        spec: the name of the target; ``None`` if it has no name.
        is_hang: whether the call never returned.
        phase: the phase that made the call.
        note: the last operation on the target, as the phase described it.
        detail: the stacks if it hung, or the end of the error output if it crashed.
        options: the options of the run.
    """

    spec: str | None
    is_hang: bool
    phase: str
    note: str
    detail: str
    options: SuiteOptions

    @property
    def name(self) -> str:
        """The name of the target, or ``<local factory>``."""
        return self.spec or "<local factory>"


def _as_loaded(target: Any, options: SuiteOptions) -> Any:  # noqa: ARG001
    return target


@dataclass(frozen=True)
class Exploring:
    """The functions that the explorer's commands need from a target type.

    Attributes:
        exploration_target: builds the exploration target from a target's name, further packages to instrument, and a
            granularity. Raises TargetError, CannotExploreError.
        stand_in: returns a placeholder for a target, from its name and the features it lacks. It answers only which
            features are missing, and builds no target.
        random_program: generates a program for a target, a seed, a shape (most threads, most operations of each thread)
            and the options of the run.
        programs: a Hypothesis strategy for a target, the options of the run, fewest and most threads, fewest and most
            operations. Raises TargetError.
        small_scope: all programs of a bound for a target and the options of the run, until a deadline on
            ``time.monotonic``.
        count: the number of these programs; ``None`` if they cannot be counted before the deadline.
        lonely_calls: programs of one call each, explored before random programs, because such a call may wait forever.
        waiting: the number of programs of a bound for a target that ``small_scope`` leaves out, because a thread may
            wait forever; the third argument is the number of those in ``small_scope``.
        only: returns the one program of the type, for the options of a run; ``None`` if there are more programs.
        walk: see :class:`~kcache_stress.target.explore.ExploreOptions`.
    """

    exploration_target: Callable[[str, tuple[str, ...], Granularity], ExplorationTarget[Any, Any]]
    stand_in: Callable[[str, frozenset[str]], Any]
    random_program: Callable[[Any, int, tuple[int, int], SuiteOptions], Any]
    programs: Callable[[Any, SuiteOptions, tuple[int, int], tuple[int, int]], Any]
    small_scope: Callable[[Bound, Any, SuiteOptions, float], Iterator[Any]]
    count: Callable[[Bound, Any, SuiteOptions, float], int | None]
    lonely_calls: Callable[[Any], Iterator[Any]] = lambda _: iter(())
    waiting: Callable[[Bound, Any, int], int] = lambda _bound, _target, _programs: 0
    only: Callable[[SuiteOptions], Any] | None = None
    walk: int = 0


class Replays(Protocol):
    """A function that replays a token."""

    def __call__(self, token: ReplayToken[Any], watch: ProgressListener, seconds: float = ..., /) -> Replayed:
        """Replay the token and return the answer."""
        ...


@dataclass(frozen=True)
class TargetType:
    """A type of targets.

    All its functions run in a child process, except ``stopped``.

    Attributes:
        name: the value for ``--type`` (or ``--kind``).
        summary: a description of such targets in a few words.
        reference: the name of kcache's own target of this type.
        phases: name -> phase, in order; the phases that end by themselves come first.
        load: loads the target from a name or a factory. Raises TargetError.
        not_tested: returns the features that the target does not offer.
        calls: returns the names of the target's calls, if a run is ``ok`` only after each of them has returned.
        stopped: returns the finding for a target that hung or crashed.
        examples: returns the shipped examples, see :mod:`.gallery`.
        codec: writes the programs of this type in findings.
        tokens: the format of the replay tokens that findings carry as ``schedule``.
        owns: whether a program belongs to this type; needed where several types share a prefix of tokens.
        replay: replays a token. If its schedule does not fail any more, its program is searched for some seconds.
        declared: builds a target from a factory and the features that it lacks; ``None`` if the factory alone
            states them. Raises TargetError.
        prepare: uses a loaded target for the first time, as the options require. Raises TargetError.
        knows: the options that not all types have: ``semantics``, ``strict``, ``threads``.
        recordings: judges recordings of calls on its objects; ``None`` if it has no specification.
        exploring: the functions for the commands explore and verify; ``None`` if only phases explore its programs.
        rules: id -> rule, for the rules that its findings break.
        advised_against: the name of a call -> why threads should not make it. Findings with such a call are advice.
        advised: further entries of this kind that are known only once the target is loaded.
        spare: returns the target without the features that some declarations exclude.
        hash_seed: returns the hash seed of the child process, for a seed of the run.
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
    recordings: RecordingJudge | None = None
    exploring: Exploring | None = None
    rules: Mapping[str, Rule] = field(default_factory=common_rules)
    advised_against: Mapping[str, str] = field(default_factory=dict)
    advised: Callable[[Any], Mapping[str, str]] = lambda _: {}
    spare: Callable[[Any, frozenset[str]], Any] = lambda target, _: target
    hash_seed: Callable[[int], int] = lambda _: 0
    calls: Callable[[Any], tuple[str, ...]] = lambda _: ()


def execution_stopped(target_type: TargetType, target: str, end: JobEnd, options: SuiteOptions) -> Finding:
    """Return the finding for an execution under the explorer, or a replay, that hung or crashed in a child process."""
    return target_type.stopped(Stopped(target, end.how == "hang", REPLAY, end.note, end.message, options))
