"""The phases of a run, each on its own: smoke test, recorded vectors, state machine, explorer, stress.

A phase stops at its first finding, makes the program of the finding as small as it can, and says what it did.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from kcache_model.driver import Driver
from kcache_model.finding import Finding, FindingKind, what_is_wrong
from kcache_model.history import History
from kcache_model.items import Semantics
from kcache_model.minimise import MinimiseBudget, minimise
from kcache_model.operations import OperationName
from kcache_model.program import Program
from kcache_model.target import Target
from kcache_model.watch import Unwatched, Watch
from kcache_stress.explorer.explore import ExploreOptions, explore, hunting
from kcache_stress.explorer.programs.random_programs import explorer_program
from kcache_stress.explorer.sandbox import CannotExploreError
from kcache_stress.explorer.subject import Subject, load_subject
from kcache_stress.stress import StressOptions, StressReport, stress

from .recorded.corpus import needs_transformer, recordings, scenarios
from .recorded.replay import replay
from .sequential import Coverage, run_program
from .smoke import smoke
from .state_machine import make_state_machine, run_examples
from .turns import as_time_passes

PHASES = ("smoke", "vectors", "machine", "explorer", "stress")
"""The phases in the order in which they run."""

_BATCH_EXAMPLES = 25
_MINIMISE_SECONDS = 5.0
_PROGRESS_SECONDS = 0.2
_EXECUTIONS = 300
_PROGRAM_SECONDS = 2.0
"""The most that the explorer spends on one program: many programs find more than many interleavings of one."""


@dataclass(frozen=True)
class PhaseContext:
    """What a phase works with.

    Attributes:
        target: the implementation.
        semantics: which generation of client-go decides.
        spec: how a private copy of the implementation can be loaded; ``None`` if it cannot.
        strict_errors: ask for kcache's error types.
        seed: of everything random.
        seconds: how long the phase may search.
        threads: how many threads run at the same time under stress; ``None`` for a few, now more and now fewer.
        instrument: further packages that the explorer instruments.
        patience_seconds: how long one call may take.
        watch: told of everything that the implementation is asked.
        on_progress: told how far the phase is, 0 to 1, and of its counts.
        on_finding: told of a finding before it is made smaller, which may take a while or end the process.
    """

    target: Target
    semantics: Semantics
    spec: str | None = None
    strict_errors: bool = False
    seed: int = 0
    seconds: float = 10.0
    threads: int | None = None
    instrument: tuple[str, ...] = ()
    patience_seconds: float = 3.0
    watch: Watch = field(default_factory=Unwatched)
    on_progress: Callable[[float, Mapping[str, int]], None] = lambda _fraction, _counts: None
    on_finding: Callable[[Finding], None] = lambda _: None


@dataclass(frozen=True)
class PhaseOutcome:
    """What a phase did.

    Attributes:
        counts: what was counted: ``programs``, ``operations``, ``rounds``, ``undecided`` ...
        finding: what is wrong, if anything.
        coverage: (operation, outcome) -> how often.
        overlapped: the same for calls that really overlapped a call of another thread.
        skipped: operations left out because the implementation does not support them.
        refused: why the phase cannot be run on the implementation, or saw nothing of it; empty if it did its work.
        sample: calls as they overlapped, where all went right.
        no_proof: why the first search that was not exhaustive for that alone proves nothing: ``FILE:LINE: what``.
    """

    counts: Mapping[str, int]
    finding: Finding | None = None
    coverage: Coverage = field(default_factory=Counter)
    overlapped: Coverage = field(default_factory=Counter)
    skipped: tuple[str, ...] = ()
    refused: str = ""
    sample: History | None = None
    no_proof: str = ""

    def merged(self, later: PhaseOutcome) -> PhaseOutcome:
        """Both turns of a phase as one."""
        return PhaseOutcome(
            dict(Counter(self.counts) + Counter(later.counts)),
            self.finding or later.finding,
            self.coverage + later.coverage,
            self.overlapped + later.overlapped,
            tuple(sorted({*self.skipped, *later.skipped})),
            self.refused or later.refused,
            later.sample or self.sample,
            self.no_proof or later.no_proof,
        )

    @property
    def inconclusive(self) -> str:
        """Why it is not the whole answer although nothing was found; empty if it is."""
        if self.refused:
            return ""
        if self.finding is not None and self.finding.unseen:
            return "what it found is not confirmed"
        if self.finding is None and not self.counts.get("programs"):
            return "no time was left for a single program; give it a larger budget"
        if self.finding is None and self.counts.get("undecided"):
            return f"{self.counts['undecided']} rounds were too hard to judge; give it a larger budget"
        if self.finding is None and self.counts["programs"] < self.counts.get("of", 0):
            return f"only {self.counts['programs']} of {self.counts['of']} scenarios fitted; give it a larger budget"
        return ""


def run_phase(name: str, context: PhaseContext) -> PhaseOutcome:
    """Run one of :data:`PHASES`. What the factory of the target raises passes through."""
    return _RUNNERS[name](context)


def _smoke(context: PhaseContext) -> PhaseOutcome:
    finding = smoke(context.target, context.semantics, strict_errors=context.strict_errors, watch=context.watch)
    return PhaseOutcome({"programs": 1}, _smallest(context, "smoke", finding))


def _vectors(context: PhaseContext) -> PhaseOutcome:
    total = sum(not needs_transformer(recording) for recording in recordings())
    counts = Counter(programs=0, operations=0, of=total)
    coverage: Coverage = Counter()
    skipped: Counter[str] = Counter()
    finding = None
    for scenario, _ in zip(scenarios(context.semantics), as_time_passes(context.seconds), strict=False):
        report = replay(context.target, scenario, strict_errors=context.strict_errors, watch=context.watch)
        counts.update(programs=1, operations=report.steps)
        coverage.update(report.coverage)
        skipped.update(report.skipped)
        context.on_progress(counts["programs"] / total, counts)
        if report.finding is not None:
            finding = _smallest(context, "vectors", report.finding)
            break
    return PhaseOutcome(counts, finding, coverage, skipped=tuple(sorted(skipped)))


def _machine(context: PhaseContext) -> PhaseOutcome:
    coverage: Coverage = Counter()
    counts = Counter(programs=0, operations=0)
    machine = make_state_machine(
        context.target,
        context.semantics,
        strict_errors=context.strict_errors,
        watch=context.watch,
        coverage=coverage,
    )
    finding = None
    for batch, fraction in enumerate(as_time_passes(context.seconds)):
        context.on_progress(fraction, counts)
        found = run_examples(machine, _BATCH_EXAMPLES, context.seed * 1_000_003 + batch)
        counts.update(programs=_BATCH_EXAMPLES)
        counts["operations"] = coverage.total()
        if found is not None:
            finding = _smallest(context, "machine", found)
            break
    return PhaseOutcome(counts, finding, coverage)


def _explorer(context: PhaseContext) -> PhaseOutcome:
    if context.spec is None:
        return PhaseOutcome({}, refused="the implementation cannot be imported by name, so not instrumented either")
    try:
        subject = load_subject(context.spec, instrument=context.instrument)
    except CannotExploreError as error:
        return PhaseOutcome({}, refused=str(error))
    options = ExploreOptions(executions=_EXECUTIONS, seconds=_PROGRAM_SECONDS, strict_errors=context.strict_errors)
    counts = Counter(programs=0, executions=0, exhausted=0)
    refused = no_proof = ""
    for number, fraction in enumerate(as_time_passes(context.seconds)):
        context.on_progress(fraction, counts)
        program = explorer_program(context.seed * 1_000_003 + number, subject.target, context.semantics)
        explored = explore(subject, program, hunting(options, number), context.watch, context.on_finding)
        counts.update(programs=1, executions=explored.executions, exhausted=explored.is_exhausted)
        refused, no_proof = refused or explored.refused, no_proof or explored.no_proof
        if explored.finding is not None:
            return PhaseOutcome(counts, explored.finding)
        if subject.sandbox.scheduler.is_stuck:
            break
    return PhaseOutcome(counts, refused=refused or _unseen(context, subject), no_proof=no_proof)


def _unseen(context: PhaseContext, subject: Subject) -> str:
    """Why the explorer saw nothing of what the target makes; empty if it did."""
    driver = Driver(context.target, (), context.semantics)
    made = type(driver.indexer)
    driver.close()
    if any(subject.sandbox.is_instrumented(base.__module__) for base in made.__mro__):
        return ""
    return (
        f"the target is made of {made.__module__}.{made.__qualname__}, which is not instrumented; "
        "name its package with --instrument, or in kcache_instrument of the factory"
    )


def _stress(context: PhaseContext) -> PhaseOutcome:
    began = time.monotonic()
    options = StressOptions(
        seconds=context.seconds,
        seed=context.seed,
        strict_errors=context.strict_errors,
        patience_seconds=context.patience_seconds,
    )
    if context.threads is not None:
        options = options.with_threads(context.threads)

    told = 0.0

    def on_round(report: StressReport) -> None:
        nonlocal told
        elapsed = time.monotonic() - began
        if elapsed - told >= _PROGRESS_SECONDS:
            told = elapsed
            context.on_progress(min(1.0, elapsed / context.seconds), _stress_counts(report))

    report = stress(context.target, context.semantics, options, context.watch, on_round, context.on_finding)
    coverage = report.coverage
    return PhaseOutcome(
        _stress_counts(report), report.finding, coverage.counts, coverage.overlapped, sample=report.sample
    )


def _stress_counts(report: StressReport) -> Mapping[str, int]:
    return {
        "programs": report.rounds,
        "operations": report.coverage.counts.total(),
        "overlapping": report.overlapping,
        "undecided": report.undecided,
    }


_RUNNERS: Mapping[str, Callable[[PhaseContext], PhaseOutcome]] = {
    "smoke": _smoke,
    "vectors": _vectors,
    "machine": _machine,
    "explorer": _explorer,
    "stress": _stress,
}


def _smallest(context: PhaseContext, phase: str, finding: Finding | None) -> Finding | None:
    """The finding of the smallest program that still shows the same; the finding as it is if no program does."""
    if finding is None:
        return None
    finding = replace(finding, phase=phase)
    if finding.program is None:
        return finding
    context.on_finding(finding)
    wanted = what_is_wrong(finding)
    best = finding

    def fails(program: Program) -> bool:
        nonlocal best
        found = run_program(
            context.target,
            program,
            strict_errors=context.strict_errors,
            reads_back=phase != "vectors",  # recordings are compared by what calls give
            watch=context.watch,
        )
        if found is None or what_is_wrong(found) != wanted:
            return False
        best = found
        return True

    if fails(finding.program):
        minimise(finding.program, fails, MinimiseBudget(seconds=_MINIMISE_SECONDS))
    return replace(best, phase=phase, scenario=finding.scenario, is_advice=_is_advice(context, best))


def _is_advice(context: PhaseContext, finding: Finding) -> bool:
    """Whether something goes wrong only because more is asked than client-go promises."""
    program = finding.program
    if program is None or not context.target.is_strict or finding.kind is FindingKind.NONDETERMINISM:
        return False
    if any(operation.name is OperationName.MUTATE for operation in program.operations()):
        return True
    lenient = replace(context.target, is_strict=False)
    return run_program(lenient, program, strict_errors=context.strict_errors, watch=context.watch) is None
