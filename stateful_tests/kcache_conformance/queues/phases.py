"""The phases of a run on a queue: smoke test, recorded client-go, state machine, explorer, real threads."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from kcache_model.finding import Finding, confirmed
from kcache_model.queues import operations as op
from kcache_model.queues.operations import Operation, Version
from kcache_model.queues.program import QueueKind, QueueOptions, QueueProgram
from kcache_stress.explorer.sandbox import CannotExploreError

from ..phase import Coverage, Phase, PhaseContext, PhaseOutcome
from ..turns import as_time_passes
from .explored import QueueExplorer
from .findings import TOKENS, Setting, sequential_finding
from .programs import random_program, telling_programs
from .recorded import RecordedProgram, recorded_programs
from .sequential import Hands, Mismatch, hands, run_program
from .state_machine import make_state_machine, run_examples
from .stressed import QueueStress
from .target import QueueTarget

_SHARE_OF_PATIENCE: Final = 0.4
"""Of the time after which the process counts as hung: who watches a call closely speaks first."""
_QUICK_SECONDS: Final = 0.3
_CONFIRMING_SECONDS: Final = 3.0
_BATCH_EXAMPLES: Final = 20
_EXECUTIONS: Final = 400
_PROGRESS_SECONDS: Final = 0.2
_PROGRAMS_UNDER_STRESS: Final = 200
_ROUNDS_AT_ONCE: Final = 8


def _smoke(context: PhaseContext) -> PhaseOutcome:
    coverage: Coverage = Counter()
    with hands() as makes:
        for program in smoke_programs(context.target):
            mismatch = _run(context, program, makes, coverage)
            if mismatch is not None:
                return PhaseOutcome({"programs": 1}, _finding(context, "smoke", mismatch, makes), coverage)
    return PhaseOutcome({"programs": 1}, None, coverage)


def smoke_programs(target: QueueTarget) -> Iterator[QueueProgram]:
    """Every call once, on each way of making the queue."""
    for options in _ways(target.kind):
        program = QueueProgram(target.kind, options)
        if target.allows(program):
            allowed = tuple(operation for operation in _SMOKE if target.allows_call(operation))
            yield replace(program, prefix=allowed)


_A, _B, _C = Version("a", "a1"), Version("b", "b1"), Version("c", "c1")
_SMOKE: tuple[Operation, ...] = (
    op.has_synced(),
    op.is_closed(),
    op.replace(_A, _B, resource_version="5"),
    op.length(),
    op.pop(),
    op.pop(),
    op.has_synced(),
    op.add(_C),
    op.update(Version("c", "c2")),
    op.delete(Version("c", "c3")),
    op.pop(),
    op.resync(),
    op.key_of(_A),
    op.bookmark("6"),
    op.update(Version("a", "a2")),
    op.pop_batch(),
    op.close(),
    op.is_closed(),
    op.pop(),
    op.pop(),
    op.pop(),
    op.pop(),
    op.pop(),
    op.known(),
)


def _ways(kind: QueueKind) -> tuple[QueueOptions, ...]:
    return {
        QueueKind.FIFO: (QueueOptions(),),
        QueueKind.DELTA_FIFO: (
            QueueOptions(),
            QueueOptions(known_objects=True, emit_delta_type_replaced=True),
            QueueOptions(known_objects=True, transformer=True),
        ),
        QueueKind.REAL_FIFO: (
            QueueOptions(known_objects=True),
            QueueOptions(atomic_events=True, emit_delta_type_bookmark=True),
            QueueOptions(known_objects=True, transformer=True),
        ),
    }[kind]


def _vectors(context: PhaseContext) -> PhaseOutcome:
    recorded = [one for one in recorded_programs(context.target.kind) if _ways_allow(context.target, one)]
    if not recorded:
        return PhaseOutcome({}, refused="nothing was recorded of queues with only the options that it offers")
    counts = Counter(programs=0, operations=0, of=len(recorded))
    coverage: Coverage = Counter()
    with hands() as makes:
        for one, _ in zip(recorded, as_time_passes(context.seconds), strict=False):
            mismatch = _run(context, one.program, makes, coverage)
            counts.update(programs=1)
            counts["operations"] = coverage.total()
            context.on_progress(counts["programs"] / max(1, len(recorded)), counts)
            if mismatch is not None:
                finding = _finding(context, "vectors", mismatch, makes, recorded=one)
                return PhaseOutcome(counts, finding, coverage)
    return PhaseOutcome(counts, None, coverage)


def _ways_allow(target: QueueTarget, recorded: RecordedProgram) -> bool:
    return target.allows(replace(recorded.program, prefix=()))


def _machine(context: PhaseContext) -> PhaseOutcome:
    coverage: Coverage = Counter()
    counts = Counter(programs=0, operations=0)
    with hands() as makes:
        machine = make_state_machine(
            context.target,
            makes,
            context.watch,
            strict_errors=context.options.strict_errors,
            patience_seconds=_patience(context),
            coverage=coverage,
        )
        for batch, fraction in enumerate(as_time_passes(context.seconds)):
            context.on_progress(fraction, counts)
            mismatch = run_examples(machine, _BATCH_EXAMPLES, context.seed * 1_000_003 + batch)
            counts.update(programs=_BATCH_EXAMPLES)
            counts["operations"] = coverage.total()
            if mismatch is not None:
                return PhaseOutcome(counts, _finding(context, "machine", mismatch, makes), coverage)
    return PhaseOutcome(counts, None, coverage)


def _explorer(context: PhaseContext) -> PhaseOutcome:
    if context.spec is None:
        return PhaseOutcome({}, refused="the queue cannot be imported by name, so not instrumented either")
    explorer = QueueExplorer(context.target, _setting(context), context.watch, context.on_finding)
    counts = Counter(programs=0, executions=0, exhausted=0)
    no_proof = ""
    try:
        for program, fraction in zip(_programs(context), as_time_passes(context.seconds), strict=False):
            context.on_progress(fraction, counts)
            explored = explorer.explore(program, executions=_EXECUTIONS)
            counts.update(programs=1, executions=explored.result.executions, exhausted=explored.is_exhausted)
            no_proof = no_proof or explored.no_proof
            if (finding := explored.finding) is not None:
                return PhaseOutcome(counts, confirmed(finding, lambda: _goes_wrong(context, finding)))
    except CannotExploreError as error:
        return PhaseOutcome({}, refused=str(error))
    return PhaseOutcome(counts, no_proof=no_proof)


def _goes_wrong(context: PhaseContext, finding: Finding) -> bool:
    """Whether real threads go wrong in the program of a finding, too."""
    if not finding.schedule:
        return False
    stress = QueueStress(context.target, _setting(context), context.watch, context.seed, _patience(context))
    with stress.underway():
        return stress.repeat(TOKENS.decode(finding.schedule).program, _CONFIRMING_SECONDS) is not None


def _stress(context: PhaseContext) -> PhaseOutcome:
    told = 0.0
    counts = Counter(programs=0, operations=0, overlapping=0, undecided=0)
    stress = QueueStress(context.target, _setting(context), context.watch, context.seed, _patience(context))
    with stress.underway():
        programs = itertools.cycle(itertools.islice(_programs(context), _PROGRAMS_UNDER_STRESS))
        rounds = (program for program in programs for _ in range(_ROUNDS_AT_ONCE))
        for program, fraction in zip(rounds, as_time_passes(context.seconds), strict=False):
            if time.monotonic() - told >= _PROGRESS_SECONDS:
                told = time.monotonic()
                context.on_progress(fraction, counts)
            found = stress.run(program)
            counts.update(programs=1, operations=len(found.calls))
            counts["overlapping"], counts["undecided"] = stress.overlapping, stress.undecided
            if found.kind is not None:
                context.on_finding(stress.finding(program, found, is_small=True))
                return PhaseOutcome(counts, stress.finding(program, found))
    return PhaseOutcome(counts)


def _programs(context: PhaseContext) -> Iterator[QueueProgram]:
    """Those that tell most, then random ones. A second turn comes from the other end: the first may have been short."""
    telling = list(telling_programs(context.target))
    yield from telling if context.seed % 2 == 0 else reversed(telling)
    for number in itertools.count():
        yield random_program(context.seed * 1_000_003 + number, context.target, is_large=number % 5 == 4)


def _run(context: PhaseContext, program: QueueProgram, makes: Hands, coverage: Coverage) -> Mismatch | None:
    return run_program(
        context.target,
        program,
        makes,
        context.watch,
        strict_errors=context.options.strict_errors,
        patience_seconds=_patience(context),
        coverage=coverage,
    )


def _finding(
    context: PhaseContext, phase: str, mismatch: Mismatch, makes: Hands, *, recorded: RecordedProgram | None = None
) -> Finding:
    """The finding of the smallest program that shows the same."""

    def run_again(program: QueueProgram) -> Mismatch | None:
        patience = min(_QUICK_SECONDS, _patience(context)) if mismatch.observed.waits else _patience(context)
        return run_program(
            context.target,
            program,
            makes,
            context.watch,
            strict_errors=context.options.strict_errors,
            patience_seconds=patience,
        )

    return sequential_finding(
        _setting(context),
        phase,
        mismatch,
        run_again,
        context.on_finding,
        title=f"client-go, {recorded.title}" if recorded is not None else "",
        scenario=None if recorded is None else recorded.id,
    )


def _setting(context: PhaseContext) -> Setting:
    return Setting(context.target.name, context.options.strict_errors, context.options.instrument)


def _patience(context: PhaseContext) -> float:
    return context.options.patience_seconds * _SHARE_OF_PATIENCE


PHASES: Final[Mapping[str, Phase]] = {
    "smoke": _smoke,
    "vectors": _vectors,
    "machine": _machine,
    "explorer": _explorer,
    "stress": _stress,
}
"""Name -> phase, in the order in which they run."""
