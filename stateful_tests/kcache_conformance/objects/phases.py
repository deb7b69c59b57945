"""The phases of a run on an object: smoke test, recordings, state machine, explorer, real threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from typing import Any, Final

from kcache_model.finding import Finding
from kcache_model.object_types.object_type import ObjectType, RecordedProgram
from kcache_model.object_types.smaller import smaller
from kcache_stress.objects.findings import sequential_finding, sequential_kind

from ..phases.phase import Coverage, Phase, PhaseContext, PhaseOutcome
from ..targets.imported_late import imported_late
from .context import own_patience, setting_of
from .sequential import Mismatch, PatientCaller, run_program

_QUICK_SECONDS: Final = 0.3
_BATCH_EXAMPLES: Final = 20
_SMALLER_SECONDS: Final = 5.0


_CONCURRENT: Final = {name: imported_late(f"{__package__}.concurrent_phases:{name}") for name in ("explorer", "stress")}
"""The phases with threads, imported late: the explorer takes most of the import time."""


def phases(object_type: ObjectType) -> Mapping[str, Phase]:
    """Return name -> phase, in the order of the run; ``recorded`` only for types with recordings."""
    own = _Phases(object_type)
    found: dict[str, Phase] = {"smoke": own.smoke}
    if object_type.has_recordings:
        found["recorded"] = own.recorded
    threads = {name: partial(phase, object_type) for name, phase in _CONCURRENT.items()}
    return {**found, "stateful": own.stateful, **threads}


class _Phases:
    def __init__(self, object_type: ObjectType) -> None:
        self._type = object_type

    def smoke(self, context: PhaseContext) -> PhaseOutcome:
        """Make every call once, in each configuration of the object."""
        coverage: Coverage = Counter()
        with closing(PatientCaller()) as makes:
            for way in self._type.ways(context.target):
                mismatch = self._run(context, way.with_calls(self._type.smoke, ()), makes, coverage)
                if mismatch is not None:
                    return PhaseOutcome({"programs": 1}, self._finding(context, "smoke", mismatch, makes), coverage)
        return PhaseOutcome({"programs": 1}, None, coverage)

    def recorded(self, context: PhaseContext) -> PhaseOutcome:
        """Compare the object with recordings of another implementation."""
        recorded = self._type.recorded(context.target)
        if not recorded:
            what = f"no recording of a {self._type.name} uses only the calls that the target offers"
            return PhaseOutcome({}, refused=what)
        counts = Counter(programs=0, operations=0, of=len(recorded))
        coverage: Coverage = Counter()
        with closing(PatientCaller()) as makes:
            for one in recorded:
                mismatch = self._run(context, one.program, makes, coverage)
                counts.update(programs=1)
                counts["operations"] = coverage.total()
                context.on_progress(counts["programs"] / len(recorded), PhaseOutcome(counts))
                if mismatch is not None:
                    finding = self._finding(context, "recorded", mismatch, makes, recorded=one)
                    return PhaseOutcome(counts, finding, coverage)
        return PhaseOutcome(counts, None, coverage)

    def stateful(self, context: PhaseContext) -> PhaseOutcome:
        """Run random programs of one thread."""
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
                patience_seconds=own_patience(context),
                coverage=coverage,
            )
            for batch, (examples, fraction) in enumerate(context.steps(at_once=_BATCH_EXAMPLES)):
                context.on_progress(fraction, PhaseOutcome(counts, None, coverage))
                mismatch = run_examples(machine, examples, context.seed * 1_000_003 + batch)
                counts.update(programs=examples)
                counts["operations"] = coverage.total()
                if mismatch is not None:
                    return PhaseOutcome(counts, self._finding(context, "stateful", mismatch, makes), coverage)
        return PhaseOutcome(counts, None, coverage)

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
            patience_seconds=min(most_seconds, own_patience(context)),
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
        """Return the finding of the smallest program with the same kind of mismatch."""
        quick = _QUICK_SECONDS if mismatch.observed.waits else float("inf")
        why = f"client-go, {recorded.title}" if recorded is not None else ""
        scenario = None if recorded is None else recorded.id

        def told(found: Mismatch) -> Finding:
            return sequential_finding(
                setting_of(self._type, context),
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
            self._type,
            mismatch,
            lambda program: self._run(context, program, makes, most_seconds=quick),
            seconds=context.seconds_within(_SMALLER_SECONDS),
        )
        return told(again)


def smallest_mismatch(
    object_type: ObjectType,
    mismatch: Mismatch,
    run_again: Callable[[Any], Mismatch | None],
    *,
    seconds: float = _SMALLER_SECONDS,
) -> Mismatch:
    """Return a mismatch of the same kind in a program as small as possible."""
    best = mismatch

    def fails(candidate: Any) -> bool:
        nonlocal best
        found = run_again(candidate)
        if found is None or _kind(found) is not _kind(mismatch):
            return False
        best = found
        return True

    # The program of the mismatch is shorter than the planned program, so minimising starts with it.
    smaller(object_type, mismatch.program, fails, seconds=seconds)
    return best


def _kind(mismatch: Mismatch) -> object:
    return sequential_kind(mismatch.expected, mismatch.observed)
