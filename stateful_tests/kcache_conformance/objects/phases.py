"""The phases of a run on an object: smoke test, recordings, state machine, explorer, real threads."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Final

from kcache_model.finding import Finding
from kcache_model.object_types.object_type import ObjectType, RecordedProgram
from kcache_model.object_types.smaller import smaller
from kcache_stress.explorer.explore import ExploreOptions, hunting
from kcache_stress.objects.findings import Setting, sequential_finding, sequential_kind
from kcache_stress.objects.laboratory import ObjectLaboratory
from kcache_stress.objects.threads import ObjectStress

from ..budget_slices import as_time_passes
from ..explorer_phase import Search, explorer_phase
from ..phase import Coverage, Phase, PhaseContext, PhaseOutcome
from .programs import LARGER_SHAPES, SHAPES, litmus_tests, lonely_calls, random_program, shapes_within
from .sequential import Mismatch, PatientCaller, run_program

_SHARE_OF_PATIENCE: Final = 0.4
"""Of the time after which the process counts as hung: who watches a call closely speaks first."""
_QUICK_SECONDS: Final = 0.3
_BATCH_EXAMPLES: Final = 20
_EXECUTIONS: Final = 400
_PROGRAM_SECONDS: Final = 2.0
_MINIMISE_SECONDS: Final = 8.0
_PROGRESS_SECONDS: Final = 0.2
_PROGRAMS_UNDER_STRESS: Final = 200
_ROUNDS_AT_ONCE: Final = 8


def phases(object_type: ObjectType) -> Mapping[str, Phase]:
    """Name -> phase, in the order in which they run; ``recorded`` only for types with recordings."""
    own = _Phases(object_type)
    found: dict[str, Phase] = {"smoke": own.smoke}
    if object_type.has_recordings:
        found["recorded"] = own.recorded
    return {**found, "stateful": own.stateful, "explorer": own.explorer, "stress": own.stress}


class _Phases:
    def __init__(self, object_type: ObjectType) -> None:
        self._type = object_type

    def smoke(self, context: PhaseContext) -> PhaseOutcome:
        """Every call once, on each way of making the object."""
        coverage: Coverage = Counter()
        with closing(PatientCaller()) as makes:
            for way in self._type.ways(context.target):
                mismatch = self._run(context, way.with_calls(self._type.smoke, ()), makes, coverage)
                if mismatch is not None:
                    return PhaseOutcome({"programs": 1}, self._finding(context, "smoke", mismatch, makes), coverage)
        return PhaseOutcome({"programs": 1}, None, coverage)

    def recorded(self, context: PhaseContext) -> PhaseOutcome:
        """What was recorded of somebody else's implementation."""
        recorded = self._type.recorded(context.target)
        if not recorded:
            what = f"nothing was recorded of {self._type.name} with only what it offers"
            return PhaseOutcome({}, refused=what)
        counts = Counter(programs=0, operations=0, of=len(recorded))
        coverage: Coverage = Counter()
        with closing(PatientCaller()) as makes:
            for one, _ in zip(recorded, as_time_passes(context.seconds), strict=False):
                mismatch = self._run(context, one.program, makes, coverage)
                counts.update(programs=1)
                counts["operations"] = coverage.total()
                context.on_progress(counts["programs"] / len(recorded), PhaseOutcome(counts))
                if mismatch is not None:
                    finding = self._finding(context, "recorded", mismatch, makes, recorded=one)
                    return PhaseOutcome(counts, finding, coverage)
        return PhaseOutcome(counts, None, coverage)

    def stateful(self, context: PhaseContext) -> PhaseOutcome:
        """Random programs of one thread."""
        from .state_machine import make_state_machine, run_examples  # Hypothesis is most of the time that imports take

        coverage: Coverage = Counter()
        counts = Counter(programs=0, operations=0)
        with closing(PatientCaller()) as makes:
            machine = make_state_machine(
                self._type,
                context.target,
                makes,
                context.watch,
                strict_errors=context.options.strict_errors,
                patience_seconds=_patience(context),
                coverage=coverage,
            )
            for batch, fraction in enumerate(as_time_passes(context.seconds)):
                context.on_progress(fraction, PhaseOutcome(counts, None, coverage))
                mismatch = run_examples(machine, _BATCH_EXAMPLES, context.seed * 1_000_003 + batch)
                counts.update(programs=_BATCH_EXAMPLES)
                counts["operations"] = coverage.total()
                if mismatch is not None:
                    return PhaseOutcome(counts, self._finding(context, "stateful", mismatch, makes), coverage)
        return PhaseOutcome(counts, None, coverage)

    def explorer(self, context: PhaseContext) -> PhaseOutcome:
        """The interleavings of small programs."""
        options = ExploreOptions(
            executions=_EXECUTIONS,
            seconds=_PROGRAM_SECONDS,
            strict_errors=context.options.strict_errors,
            minimise_seconds=_MINIMISE_SECONDS,
        )

        def searches(_: str) -> Iterator[Search]:
            laboratory = ObjectLaboratory(self._type, context.target, context.options.instrument)
            alone = lonely_calls(self._type, context.target)
            for number, program in enumerate(itertools.chain(alone, self._programs(context))):
                yield Search(laboratory, program, hunting(options, number))

        return explorer_phase(context, searches, self._type.called)

    def stress(self, context: PhaseContext) -> PhaseOutcome:
        """Small programs with real threads."""
        told = 0.0
        counts = Counter(programs=0, operations=0, overlapping=0, undecided=0)
        setting = self._setting(context)
        stress = ObjectStress(context.target, setting, context.watch, context.seed, _patience(context))
        covered = stress.coverage.counts, stress.coverage.overlapped
        with stress.underway():
            programs = itertools.cycle(itertools.islice(self._programs(context), _PROGRAMS_UNDER_STRESS))
            rounds = (program for program in programs for _ in range(_ROUNDS_AT_ONCE))
            for program, fraction in zip(rounds, as_time_passes(context.seconds), strict=False):
                if time.monotonic() - told >= _PROGRESS_SECONDS:
                    told = time.monotonic()
                    context.on_progress(fraction, PhaseOutcome(counts, None, *covered))
                found = stress.run(program)
                counts.update(programs=1, operations=len(found.calls))
                counts["overlapping"], counts["undecided"] = stress.overlapping, stress.undecided
                if found.kind is not None:
                    context.on_finding(stress.finding(program, found, is_small=True))
                    finding = stress.finding(program, found)
                    return PhaseOutcome(counts, finding, *covered)
        return PhaseOutcome(counts, None, *covered)

    def _programs(self, context: PhaseContext) -> Iterator[Any]:
        """Litmus tests, then random ones. A second turn comes from the other end: the first may have been short."""
        litmus = list(litmus_tests(self._type, context.target))
        yield from litmus if context.seed % 2 == 0 else reversed(litmus)
        for number in itertools.count():
            shapes: Sequence[tuple[int, ...]] = LARGER_SHAPES if number % 5 == 4 else SHAPES
            if context.options.shape is not None:
                shapes = shapes_within(*context.options.shape)
            yield random_program(context.seed * 1_000_003 + number, self._type, context.target, shapes)

    def _run(
        self,
        context: PhaseContext,
        program: Any,
        makes: PatientCaller,
        coverage: Coverage | None = None,
        most_seconds: float = float("inf"),
    ) -> Mismatch | None:
        return run_program(
            self._type,
            context.target,
            program,
            makes,
            context.watch,
            strict_errors=context.options.strict_errors,
            patience_seconds=min(most_seconds, _patience(context)),
            coverage=coverage,
        )

    def _finding(
        self,
        context: PhaseContext,
        phase: str,
        mismatch: Mismatch,
        makes: PatientCaller,
        *,
        recorded: RecordedProgram | None = None,
    ) -> Finding:
        """The finding of the smallest program that shows the same."""
        quick = _QUICK_SECONDS if mismatch.observed.waits else float("inf")
        why = f"client-go, {recorded.title}" if recorded is not None else ""
        scenario = None if recorded is None else recorded.id

        def told(found: Mismatch) -> Finding:
            return sequential_finding(
                self._setting(context),
                phase,
                found.program,
                found.expected,
                found.observed,
                stacks=found.stacks,
                why=why,
                scenario=scenario,
            )

        context.on_finding(told(mismatch))
        again = smallest_mismatch(
            self._type, mismatch, lambda program: self._run(context, program, makes, most_seconds=quick)
        )
        return told(again)

    def _setting(self, context: PhaseContext) -> Setting:
        options = context.options
        return Setting(self._type, context.target.name, options.strict_errors, options.instrument)


def smallest_mismatch(
    object_type: ObjectType,
    mismatch: Mismatch,
    run_again: Callable[[Any], Mismatch | None],
    *,
    seconds: float = 5.0,
) -> Mismatch:
    """A mismatch of the same kind in a program as small as can be."""
    best = mismatch

    def fails(candidate: Any) -> bool:
        nonlocal best
        found = run_again(candidate)
        if found is None or _kind(found) is not _kind(mismatch):
            return False
        best = found
        return True

    # What was reached is shorter than what was to be done: start from there.
    smaller(object_type, mismatch.program, fails, seconds=seconds)
    return best


def _kind(mismatch: Mismatch) -> object:
    return sequential_kind(mismatch.expected, mismatch.observed)


def _patience(context: PhaseContext) -> float:
    return context.options.patience_seconds * _SHARE_OF_PATIENCE
