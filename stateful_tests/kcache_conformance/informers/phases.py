"""The phases of a run on an informer: smoke test, litmus tests, state machine, explorer, real threads."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from kcache_model.errors import CannotExploreError
from kcache_model.finding import Finding, FindingKind
from kcache_model.informers.program import InformerProgram
from kcache_stress.engine.execution import Problem
from kcache_stress.engine.granularity import Granularity
from kcache_stress.target.explore import ExploreOptions, explore

from ..phases.explorer_phase import Search, explorer_phase
from ..phases.phase import PhaseContext, PhaseOutcome
from .findings import minimal_finding
from .informer_exploration import InformerExplorationTarget, informer_exploration_target
from .litmus_tests import CONCURRENT, CROWDED, SEQUENTIAL
from .random_programs import random_program
from .real import RealInformer

_BATCH_EXAMPLES: Final = 20
_RANDOM_PROGRAMS: Final = 40
_LEAST_ROUNDS: Final = 3
"""Minimum number of programs in the stress phase, where each program takes long."""
_LONG_SECONDS: Final = 5.0
_SAMPLES: Final = 60
_MOST_EXECUTIONS: Final = 100_000
_MINIMISE_SECONDS: Final = 6.0
_CANDIDATE_SECONDS: Final = 0.7


def smoke(context: PhaseContext) -> PhaseOutcome:
    """Run one simple program: under the explorer, which finds many faults at once, and on real threads."""
    program = SEQUENTIAL["changes"]
    real = _real(context)
    real.make()  # first: the watch notices a factory that hangs here, but not while modules are copied
    virtual = _virtual(context)
    if virtual is not None and (finding := _once(context, virtual, "smoke", program)) is not None:
        return PhaseOutcome({"programs": 1}, finding)
    return PhaseOutcome({"programs": 1}, _really(real, "smoke", program))


def litmus(context: PhaseContext) -> PhaseOutcome:
    """Run each sequential litmus test once, under the explorer if possible, else on real threads."""
    counts = Counter(programs=0, of=len(SEQUENTIAL))
    virtual, real = _virtual(context), _real(context)
    for program in SEQUENTIAL.values():
        counts.update(programs=1)
        context.on_progress(counts["programs"] / counts["of"], PhaseOutcome(counts))
        if virtual is not None:
            finding = _once(context, virtual, "litmus", program)
        else:
            finding = _really(real, "litmus", program)
        if finding is not None:
            return PhaseOutcome(counts, finding)
    return PhaseOutcome(counts)


def stateful(context: PhaseContext) -> PhaseOutcome:
    """Run random programs of the state machine, each along one schedule."""
    from .state_machine import run_examples  # Hypothesis takes most of the import time

    counts = Counter(programs=0)
    virtual, real = _virtual(context), _real(context)
    at_once = _BATCH_EXAMPLES if virtual is not None else 1
    for batch, (examples, fraction) in enumerate(context.steps(at_once=at_once)):
        context.on_progress(fraction, PhaseOutcome(counts))
        run = real.run if virtual is None else _watched(context, virtual)
        failure = run_examples(run, examples, context.seed * 1_000_003 + batch)
        counts.update(programs=examples)
        if failure is not None:
            program, problem = failure
            if virtual is None:
                return PhaseOutcome(counts, real.finding("stateful", program, problem))
            finding = _once(context, virtual, "stateful", program)
            if finding is None:
                summary = f"only in one of two runs of the same program: {problem.summary}"
                unsteady = Problem(FindingKind.NONDETERMINISM, summary)
                finding = minimal_finding("stateful", unsteady, context.target.name, program)
            return PhaseOutcome(counts, finding)
    return PhaseOutcome(counts)


def explorer(context: PhaseContext) -> PhaseOutcome:
    """Explore the concurrent litmus tests, then random programs, in many interleavings."""

    def searches(spec: str) -> Iterator[Search]:
        exploration_target = _controlled(context, spec)
        for program, granularity, options in _searches(context):
            candidates = replace(options, seconds=_CANDIDATE_SECONDS)
            limited = replace(options, candidates=candidates, minimise_seconds=_MINIMISE_SECONDS)
            yield Search(exploration_target.at(granularity), program, limited)

    return explorer_phase(context, searches, "informer")


def _searches(context: PhaseContext) -> Iterator[tuple[InformerProgram, Granularity, ExploreOptions]]:
    """Yield the searches in order: samples of litmus tests, then all their interleavings with 0 and 1 preemptions.

    Then, without end, samples of random programs and again of the litmus tests.
    """
    seed = context.seed * 1_000_003
    telling = (*CONCURRENT.values(), *CROWDED.values())
    for granularity in (Granularity.SYNC, Granularity.FREE):
        for program in telling:
            yield program, granularity, _sampled(seed)
    for preemptions, seconds in ((0, 1.0), (1, 2.0)):
        for program in CONCURRENT.values():
            options = ExploreOptions("bounded", executions=_MOST_EXECUTIONS, seconds=seconds, preemptions=preemptions)
            yield program, Granularity.SYNC, options
    for number in itertools.count(1):
        granularity = (Granularity.SYNC, Granularity.FREE)[number % 2]
        for extra in range(_RANDOM_PROGRAMS):
            yield random_program(seed + _RANDOM_PROGRAMS * number + extra), granularity, _sampled(seed)
        for program in telling:
            yield program, granularity, _sampled(seed + number)


def _sampled(seed: int) -> ExploreOptions:
    return ExploreOptions("pos", executions=_SAMPLES, seconds=_LONG_SECONDS, seed=seed)


def stress(context: PhaseContext) -> PhaseOutcome:
    """Run random programs on real threads."""
    real = _real(context)
    counts = Counter(programs=0)
    for number, (_, fraction) in enumerate(context.steps(least=_LEAST_ROUNDS)):
        context.on_progress(fraction, PhaseOutcome(counts))
        program = random_program(context.seed * 1_000_003 + number, is_large=True)
        finding = _really(real, "stress", program)
        counts.update(programs=1)
        if finding is not None:
            return PhaseOutcome(counts, finding)
    return PhaseOutcome(counts)


def _once(
    context: PhaseContext, exploration_target: InformerExplorationTarget, phase: str, program: InformerProgram
) -> Finding | None:
    """Run a program along one schedule without preemptions; return its minimised finding, or ``None``."""
    once = ExploreOptions("bounded", executions=1, preemptions=0, minimise_seconds=_MINIMISE_SECONDS)
    options = replace(once, candidates=once)
    finding = explore(exploration_target, program, options, context.watch, context.on_finding).finding
    return None if finding is None else replace(finding, phase=phase)


def _really(real: RealInformer, phase: str, program: InformerProgram) -> Finding | None:
    """Run a program on real threads; return its minimised finding, or ``None``."""
    problem = real.run(program)
    return None if problem is None else real.finding(phase, program, problem)


def _watched(
    context: PhaseContext, exploration_target: InformerExplorationTarget
) -> Callable[[InformerProgram], Problem | None]:
    def run(program: InformerProgram) -> Problem | None:
        exploration_target.announce(program, context.watch)
        return exploration_target.run_once(program)

    return run


def _virtual(context: PhaseContext) -> InformerExplorationTarget | None:
    """The exploration target, which runs programs deterministically; ``None`` if it cannot be scheduled."""
    if context.spec is None:
        return None
    try:
        return _controlled(context, context.spec)
    except CannotExploreError:
        return None


def _controlled(context: PhaseContext, spec: str) -> InformerExplorationTarget:
    exploration_target = informer_exploration_target(spec, context.options.instrument)
    exploration_target.announce(InformerProgram(), context.watch)
    exploration_target.run_once(InformerProgram())
    return exploration_target


def _real(context: PhaseContext) -> RealInformer:
    return RealInformer(context.target, context.watch, context.options.patience_seconds, context.on_finding)
