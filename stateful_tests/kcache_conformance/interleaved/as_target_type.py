"""The target type of interleaved tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kcache_model.call_program import hash_seed
from kcache_model.codec import Codec
from kcache_model.errors import FormatError, TargetError
from kcache_model.finding import Finding, FindingKind
from kcache_model.interleaved_program import InterleavedProgram, decode_program, encode_program
from kcache_model.progress import ProgressListener
from kcache_stress.interleaved.body_exploration import TOKENS, BodyExplorationTarget
from kcache_stress.interleaved.named_test import load_test
from kcache_stress.recorded_imports import use_imports
from kcache_stress.target.explore import ExploreOptions
from kcache_stress.target.replay import follow
from kcache_stress.target.replay_answer import SEARCH_SECONDS, Replayed
from kcache_stress.target.replay_token import ReplayToken

from ..phases.explorer_phase import Search, explorer_phase
from ..phases.phase import PhaseContext, PhaseOutcome
from ..phases.suite_options import SuiteOptions
from ..targets.target_type import Exploring, Stopped, TargetType

_EXECUTIONS: Final = 100_000
WALK: Final = 200
"""Guided samples in a row without news. They detect rare faults and faults of many threads, before a full search."""


def _explorer(context: PhaseContext) -> PhaseOutcome:
    """Explore the interleavings of the test."""

    def searches(spec: str) -> Iterator[Search]:
        most = context.seconds
        whole = most + context.options.shrink_seconds
        options = ExploreOptions(
            executions=_EXECUTIONS, walk=WALK, seconds=most, whole_seconds=whole, seed=context.seed, widens=True
        )
        program = _program(context.options)
        yield Search(BodyExplorationTarget(spec, context.options.instrument), program, options)

    return explorer_phase(context, searches, "test")


def _program(options: SuiteOptions) -> InterleavedProgram:
    return InterleavedProgram(
        parameters=options.parameters,
        import_path=options.import_path,
        usual=options.usual,
        timeouts=options.timeouts,
        cancellations=options.cancel,
        cancelled=options.cancelled,
        loop=options.loop,
    )


def _stopped(stopped: Stopped) -> Finding:
    """Return the finding for an execution that froze or ended the whole process."""
    kind = FindingKind.HANG if stopped.is_hang else FindingKind.CRASH
    did = f"did not return within {stopped.options.patience_seconds:g} s" if stopped.is_hang else "ended the process"
    program = _program(stopped.options)
    token = ReplayToken(stopped.name, program, kind, instrument=stopped.options.instrument)
    return Finding(kind, stopped.phase, f"the test {did}", detail=stopped.detail, schedule=TOKENS.encode(token))


def _replay(
    token: ReplayToken[InterleavedProgram], watch: ProgressListener, seconds: float = SEARCH_SECONDS
) -> Replayed:
    if token.program.import_path:
        use_imports(token.program.import_path, {})
    exploration_target = BodyExplorationTarget(token.target, token.instrument, token.granularity)
    return follow(
        exploration_target, token, watch, [ExploreOptions(executions=_EXECUTIONS, walk=WALK, seconds=seconds)]
    )


def _no_call(_: object) -> Any:
    raise FormatError("findings about tests have no calls")


def _nothing_small(*_: object) -> Any:
    raise TargetError("a test is one program: if the budget allows, kcache explore runs all its interleavings")


TEST = TargetType(
    name="test",
    summary="a test body whose threads are run in every order",
    reference="kcache_conformance.interleaved.reference:nothing_is_lost",
    phases={"explorer": _explorer},
    load=load_test,
    prepare=lambda test, options: test.with_parameters(options.parameters),
    not_tested=lambda _: (),
    stopped=_stopped,
    examples=lambda: (),
    codec=Codec(encode_program, decode_program, _no_call, _no_call),
    tokens=TOKENS,
    exploring=Exploring(
        exploration_target=BodyExplorationTarget,
        stand_in=lambda spec, _: spec,
        random_program=lambda _target, _seed, _shape, options: _program(options),
        programs=_nothing_small,
        small_scope=_nothing_small,
        count=_nothing_small,
        only=_program,
        walk=WALK,
    ),
    replay=_replay,
    knows=frozenset({"timeouts", "cancel", "cancel-any", "loop"}),
    hash_seed=hash_seed,
)
