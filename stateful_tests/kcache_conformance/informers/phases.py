"""The phases of a run on an informer: smoke test, telling programs, state machine, explorer, real threads."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kcache_model.finding import Finding, FindingKind, confirmed
from kcache_model.informers.program import InformerProgram
from kcache_stress.explorer.execution import Problem
from kcache_stress.explorer.granularity import Granularity
from kcache_stress.explorer.sandbox import CannotExploreError
from kcache_stress.explorer.scenarios import ScenarioResult

from ..phase import Phase, PhaseContext, PhaseOutcome
from ..turns import as_time_passes
from .findings import TOKENS, bare_finding
from .hunting import RealHunter, VirtualHunter
from .random_programs import random_program
from .state_machine import run_examples
from .telling_programs import CONCURRENT, CROWDED, SEQUENTIAL

_BATCH_EXAMPLES: Final = 20
_NO_NAME: Final = "the informer cannot be imported by name, so not instrumented either"
_FIRST_SECONDS: Final = 0.5
_RANDOM_PROGRAMS: Final = 40
_LONG_SECONDS: Final = 5.0
_SAMPLES: Final = 60
_CONFIRMING_RUNS: Final = 5
_CANDIDATE_SECONDS: Final = 0.7


def _smoke(context: PhaseContext) -> PhaseOutcome:
    """The plainest program: under the explorer, where a fault shows at once, and with real threads."""
    program = SEQUENTIAL["changes"]
    hunter = _real(context)
    hunter.make()  # first of all: a factory that hangs is watched here, and is not while it is copied
    virtual = _virtual(context)
    if virtual is not None and (result := _once(virtual, program)).problem is not None:
        return PhaseOutcome({"programs": 1}, _smallest_once(context, virtual, "smoke", program, result))
    problem = hunter.run(program)
    finding = None if problem is None else hunter.finding("smoke", program, problem)
    return PhaseOutcome({"programs": 1}, finding)


def _scenarios(context: PhaseContext) -> PhaseOutcome:
    """Each of the telling programs once."""
    counts = Counter(programs=0, of=len(SEQUENTIAL))
    hunter: Any = _virtual(context) or _real(context)
    for program, _ in zip(SEQUENTIAL.values(), as_time_passes(context.seconds), strict=False):
        counts.update(programs=1)
        context.on_progress(counts["programs"] / counts["of"], counts)
        if isinstance(hunter, VirtualHunter):
            result = _once(hunter, program)
            if result.problem is not None:
                return PhaseOutcome(counts, _smallest_once(context, hunter, "scenarios", program, result))
        elif (problem := hunter.run(program)) is not None:
            return PhaseOutcome(counts, hunter.finding("scenarios", program, problem))
    return PhaseOutcome(counts)


def _machine(context: PhaseContext) -> PhaseOutcome:
    counts = Counter(programs=0)
    virtual = _virtual(context)
    real = _real(context)
    for batch, fraction in enumerate(as_time_passes(context.seconds)):
        context.on_progress(fraction, counts)
        examples = _BATCH_EXAMPLES if virtual is not None else 1
        found = run_examples(
            real.run if virtual is None else virtual.run_once, examples, context.seed * 1_000_003 + batch
        )
        counts.update(programs=examples)
        if found is not None:
            program, problem = found
            if virtual is None:
                return PhaseOutcome(counts, real.finding("machine", program, problem))
            again = _once(virtual, program)
            if again.problem is None:
                summary = f"not every time: {problem.summary}; the same program passed when it was run again"
                unsteady = Problem(FindingKind.NONDETERMINISM, summary)
                return PhaseOutcome(counts, bare_finding("machine", unsteady, context.target.name, program))
            return PhaseOutcome(counts, _smallest_once(context, virtual, "machine", program, again))
    return PhaseOutcome(counts)


def _explorer(context: PhaseContext) -> PhaseOutcome:
    if context.spec is None:
        return PhaseOutcome({}, refused=_NO_NAME)
    hunter = VirtualHunter(context.spec, context.watch, context.on_finding, context.options.instrument)
    counts = Counter(programs=0, executions=0)
    try:
        hunter.run_once(InformerProgram())
        searches = zip(_searches(context), as_time_passes(context.seconds), strict=False)
        for (program, granularity, options), fraction in searches:
            context.on_progress(fraction, counts)
            left = max(_FIRST_SECONDS, context.seconds * (1.0 - fraction))
            result = hunter.search(program, granularity, **{**options, "seconds": min(options["seconds"], left)})
            counts.update(programs=1, executions=result.executions)
            if result.problem is not None:
                again = {**options, "seconds": _CANDIDATE_SECONDS}

                def search(candidate: InformerProgram, granularity=granularity, again=again) -> ScenarioResult:  # type: ignore[no-untyped-def]
                    return hunter.search(candidate, granularity, **again)

                finding = hunter.smallest("explorer", program, result, search)
                return PhaseOutcome(counts, _confirmed(context, finding))
    except CannotExploreError as error:
        return PhaseOutcome({}, refused=str(error))
    return PhaseOutcome(counts)


def _searches(context: PhaseContext) -> Iterator[tuple[InformerProgram, Granularity, dict[str, Any]]]:
    """Samples of telling programs, then all of their interleavings with few preemptions, then random programs."""
    seed = context.seed * 1_000_003
    telling = (*CONCURRENT.values(), *CROWDED.values())
    for granularity in (Granularity.SYNC, Granularity.FREE):
        for program in telling:
            yield program, granularity, _sampled(seed)
    for preemptions, seconds in ((0, 1.0), (1, 2.0)):
        for program in CONCURRENT.values():
            options = {"strategy": "bounded", "preemptions": preemptions, "seconds": seconds}
            yield program, Granularity.SYNC, options
    for number in itertools.count(1):
        granularity = (Granularity.SYNC, Granularity.FREE)[number % 2]
        for extra in range(_RANDOM_PROGRAMS):
            yield random_program(seed + _RANDOM_PROGRAMS * number + extra), granularity, _sampled(seed)
        for program in telling:
            yield program, granularity, _sampled(seed + number)


def _sampled(seed: int) -> dict[str, Any]:
    return {"strategy": "pos", "executions": _SAMPLES, "seconds": _LONG_SECONDS, "seed": seed}


def _stress(context: PhaseContext) -> PhaseOutcome:
    hunter = _real(context)
    counts = Counter(programs=0)
    for number, fraction in enumerate(as_time_passes(context.seconds)):
        context.on_progress(fraction, counts)
        program = random_program(context.seed * 1_000_003 + number, is_large=True)
        problem = hunter.run(program)
        counts.update(programs=1)
        if problem is not None:
            return PhaseOutcome(counts, hunter.finding("stress", program, problem))
    return PhaseOutcome(counts)


def _once(hunter: VirtualHunter, program: InformerProgram) -> ScenarioResult:
    return hunter.search(program, Granularity.SYNC, "bounded", preemptions=0, executions=1)


def _smallest_once(
    context: PhaseContext, hunter: VirtualHunter, phase: str, program: InformerProgram, result: ScenarioResult
) -> Finding:
    finding = hunter.smallest(phase, program, result, lambda candidate: _once(hunter, candidate))
    return _confirmed(context, finding)


def _confirmed(context: PhaseContext, finding: Finding) -> Finding:
    """A finding as real threads see it."""

    def goes_wrong() -> bool:
        if not finding.schedule:
            return False
        hunter, program = _real(context), TOKENS.decode(finding.schedule).program
        return any(hunter.run(program) is not None for _ in range(_CONFIRMING_RUNS))

    return confirmed(finding, goes_wrong)


def _virtual(context: PhaseContext) -> VirtualHunter | None:
    """What runs programs deterministically; ``None`` if the target cannot be scheduled."""
    if context.spec is None:
        return None
    hunter = VirtualHunter(context.spec, context.watch, context.on_finding, context.options.instrument)
    try:
        hunter.run_once(InformerProgram())
    except CannotExploreError:
        return None
    return hunter


def _real(context: PhaseContext) -> RealHunter:
    return RealHunter(context.target, context.watch, context.options.patience_seconds, context.on_finding)


PHASES: Final[Mapping[str, Phase]] = {
    "smoke": _smoke,
    "scenarios": _scenarios,
    "machine": _machine,
    "explorer": _explorer,
    "stress": _stress,
}
"""Name -> phase, in the order in which they run."""
