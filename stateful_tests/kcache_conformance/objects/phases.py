"""The phases of a run on an object: smoke test, recordings, state machine, explorer, real threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, Final

from kcache_model.finding import Finding, FindingKind
from kcache_model.object_types.object_type import ObjectType
from kcache_model.object_types.smaller import smaller

from ..phases.phase import Coverage, Phase, PhaseContext, PhaseOutcome
from ..targets.imported_late import imported_late
from .context import own_patience, setting_of
from .mismatches import Mismatch, finding_of
from .patient_caller import PatientCaller, caller_of
from .sequential import SequentialSetup, run_program

_QUICK_SECONDS: Final = 0.3
_BATCH_EXAMPLES: Final = 20
_SMALLER_SECONDS: Final = 5.0
_SMALLER_ATTEMPTS: Final = 2_000
"""Each attempt takes about a millisecond: most programs of one thread are minimal after some hundred."""


_CONCURRENT: Final = {name: imported_late(f"{__package__}.concurrent_phases:{name}") for name in ("explorer", "stress")}
"""The phases with threads, imported late: the explorer takes most of the import time."""


def phases(object_type: ObjectType) -> Mapping[str, Phase]:
    """Return name -> phase, in the order of the run; ``recorded`` only for types with recordings."""
    own = SequentialPhases(object_type)
    found: dict[str, Phase] = {"smoke": own.smoke}
    if object_type.has_recordings:
        found["recorded"] = own.recorded
    threads = {name: partial(phase, object_type) for name, phase in _CONCURRENT.items()}
    return {**found, "stateful": own.stateful, **threads}


class SequentialPhases:
    """The phases with one thread. Each stops at its first unknown finding and makes it small.

    Args:
        object_type: of the target.
    """

    def __init__(self, object_type: ObjectType) -> None:
        self._type = object_type

    def smoke(self, context: PhaseContext) -> PhaseOutcome:
        """Make every call once, in each configuration of the object."""
        ways = self._type.ways(context.target)
        return self.run_all(context, "smoke", (way.with_calls(self._type.smoke, ()) for way in ways))

    def run_all(self, context: PhaseContext, phase: str, programs: Iterable[Any]) -> PhaseOutcome:
        """Run programs, which count as one."""
        coverage: Coverage = Counter()
        with closing(caller_of(self._type)) as caller:
            setup = self.setup(context, caller)
            for program in programs:
                mismatch = run_program(setup, program, coverage)
                if mismatch is not None:
                    return PhaseOutcome({"programs": 1}, self.finding(context, phase, mismatch, setup), coverage)
        return PhaseOutcome({"programs": 1}, None, coverage)

    def recorded(self, context: PhaseContext) -> PhaseOutcome:
        """Compare the object with recordings of another implementation."""
        recorded = self._type.recorded(context.target)
        if not recorded:
            what = f"no recording of a {self._type.name} uses only the calls that the target offers"
            return PhaseOutcome({}, refused=what)
        counts = Counter(programs=0, operations=0, of=len(recorded))
        coverage: Coverage = Counter()
        with closing(caller_of(self._type)) as caller:
            setup = self.setup(context, caller)
            for one in recorded:
                mismatch = run_program(setup, one.program, coverage)
                counts.update(programs=1)
                counts["operations"] = coverage.total()
                context.on_progress(counts["programs"] / len(recorded), PhaseOutcome(counts))
                if mismatch is not None:
                    why = f"client-go, {one.title}"
                    finding = self.finding(context, "recorded", mismatch, setup, why=why, scenario=one.id)
                    return PhaseOutcome(counts, finding, coverage)
        return PhaseOutcome(counts, None, coverage)

    def stateful(self, context: PhaseContext, rules: Mapping[str, Any] | None = None) -> PhaseOutcome:
        """Run random programs of one thread; ``rules`` of Hypothesis make the calls, if the vocabulary does not."""
        from .state_machine import make_state_machine, run_examples  # Hypothesis is most of the time that imports take

        coverage: Coverage = Counter()
        counts = Counter(programs=0, operations=0)
        with closing(caller_of(self._type)) as caller:
            setup = self.setup(context, caller)
            machine = make_state_machine(setup, coverage, rules)
            for batch, (examples, fraction) in enumerate(context.steps(at_once=_BATCH_EXAMPLES)):
                context.on_progress(fraction, PhaseOutcome(counts, None, coverage))
                mismatch, is_steady = run_examples(machine, examples, context.seed * 1_000_003 + batch)
                counts.update(programs=examples)
                counts["operations"] = coverage.total()
                if mismatch is not None:
                    finding = self.finding(context, "stateful", mismatch, setup, is_steady=is_steady)
                    return PhaseOutcome(counts, finding, coverage)
        return PhaseOutcome(counts, None, coverage)

    def setup(self, context: PhaseContext, caller: PatientCaller, *, checks_steps: bool = True) -> SequentialSetup:
        """Return the setup of the runs of a phase."""
        setting = setting_of(self._type, context)
        return SequentialSetup(
            self._type,
            context.target,
            caller,
            context.watch,
            strict_errors=context.options.strict_errors,
            patience_seconds=own_patience(context),
            is_known=lambda mismatch: context.is_known(finding_of(setting, "", mismatch)),
            checks_steps=checks_steps,
        )

    def finding(
        self,
        context: PhaseContext,
        phase: str,
        mismatch: Mismatch,
        setup: SequentialSetup,
        *,
        why: str = "",
        scenario: str | None = None,
        is_steady: bool = True,
    ) -> Finding:
        """Return the finding of the smallest program with the same symptom.

        Args:
            context: of the phase.
            phase: its name.
            mismatch: the failure.
            setup: of the phase's runs.
            why: the source of the expectation, if it is not the specification alone.
            scenario: id of the recording, if the program comes from a recording.
            is_steady: whether the same program failed when it was run again.
        """
        setting, known = setting_of(self._type, context), context.known

        new_finding = partial(finding_of, setting, phase, why=why, scenario=scenario)
        finding = new_finding(mismatch)
        if not is_steady:
            unsteady = new_finding(replace(mismatch, program=mismatch.program.as_unsteady()))
            summary = f"not every time: {finding.summary}; the same program passed when it was run again"
            return replace(unsteady, kind=FindingKind.NONDETERMINISM, rule="", summary=summary)
        context.on_finding(finding)
        again = replace(
            setup,
            patience_seconds=min(setup.patience_seconds, _QUICK_SECONDS if mismatch.observed.waits else float("inf")),
            is_known=lambda other: known.has(new_finding(other)),
        )
        symptoms, rule = known.symptoms_of(finding), known.rules.get(finding.rule)
        is_of_state = rule is not None and rule.is_of_state  # the last write may then be another

        def is_same(other_mismatch: Mismatch) -> bool:
            other = new_finding(other_mismatch)
            if (other.kind, other.rule, other.location) != (finding.kind, finding.rule, finding.location):
                return False
            return is_of_state or not symptoms.isdisjoint(known.symptoms_of(other))

        def run_on(program: Any, target: Any) -> Finding | None:
            other = run_program(replace(again, target=target), program)
            return None if other is None else new_finding(other)

        seconds = context.seconds_within(_SMALLER_SECONDS)
        small = smallest_mismatch(self._type, mismatch, partial(run_program, again), is_same, seconds=seconds)
        return finding if small is None else self._type.diagnose(new_finding(small), context.target, run_on)


def smallest_mismatch(
    object_type: ObjectType,
    mismatch: Mismatch,
    run_again: Callable[[Any], Mismatch | None],
    is_same: Callable[[Mismatch], bool],
    *,
    seconds: float = _SMALLER_SECONDS,
) -> Mismatch | None:
    """Return the same mismatch in a program as small as possible; ``None`` if its own program does not fail again.

    Args:
        object_type: of the target.
        mismatch: the mismatch.
        run_again: runs a program and returns its mismatch.
        is_same: whether another mismatch is the same.
        seconds: limit of wall-clock time.
    """
    best = None

    def fails(candidate: Any) -> bool:
        nonlocal best
        found = run_again(candidate)
        if found is None or not is_same(found):
            return False
        best = found
        return True

    # The program of the mismatch is shorter than the planned program, so minimising starts with it.
    if fails(mismatch.program):
        smaller(object_type, mismatch.program, fails, seconds=seconds, attempts=_SMALLER_ATTEMPTS)
    return best
