"""The phases on an Indexer with several threads: the explorer, and stress with real threads."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf

from kcache_model.call_program import own_hash_seed
from kcache_model.finding import Finding, FindingKind
from kcache_model.indexers.driver import Driver
from kcache_model.indexers.object_type import INDEXER_OBJECTS
from kcache_model.indexers.program import Program
from kcache_stress.indexers.exploration import explored_indexer
from kcache_stress.indexers.programs.random_programs import explorer_program
from kcache_stress.indexers.stress import StressOptions, StressReport
from kcache_stress.indexers.stress import stress as run_stress
from kcache_stress.objects.findings import token_format
from kcache_stress.objects.object_exploration import ObjectExplorationTarget
from kcache_stress.target.explore import ExploreOptions, hunting

from ..objects.context import setting_of
from ..phases.budget_slices import LEAST_PROGRAMS
from ..phases.explorer_phase import Search, explorer_phase
from ..phases.phase import PhaseContext, PhaseOutcome
from .sequential import in_any_order

_PROGRESS_SECONDS = 0.2
_EXECUTIONS = 300
_PROGRAM_SECONDS = 2.0
"""Time limit of the explorer for one program: many programs find more than many interleavings of one program."""


def explorer(context: PhaseContext) -> PhaseOutcome:
    """Explore small random programs, each in up to ``_EXECUTIONS`` executions and ``_PROGRAM_SECONDS`` seconds."""
    unseen = ""
    options = ExploreOptions(
        executions=_EXECUTIONS, seconds=_PROGRAM_SECONDS, strict_errors=context.options.strict_errors
    )

    def searches(spec: str) -> Iterator[Search]:
        nonlocal unseen
        loaded = explored_indexer(spec, instrument=context.options.instrument, unsupported=context.target.unsupported)
        unseen = _unseen(context, loaded)  # first: if the budget ends during a program, the run must not report "ok"
        for number in itertools.count():
            program = explorer_program(context.seed * 1_000_003 + number, context.target, context.options.semantics)
            yield Search(loaded, program, hunting(options, number))

    def on_progress(fraction: float, so_far: PhaseOutcome) -> None:
        context.on_progress(fraction, replace(so_far, refused=so_far.refused or unseen))

    told = replace(context, on_progress=on_progress)
    outcome = explorer_phase(told, searches, "implementation", lambda program: _in_any_order(context, program))
    is_silent = outcome.finding is None and not outcome.refused
    return replace(outcome, refused=unseen) if is_silent else outcome


def _unseen(context: PhaseContext, loaded: ObjectExplorationTarget) -> str:
    """Return the reason if the explorer cannot observe the Indexer: its class is not instrumented. Otherwise empty."""
    driver = Driver(context.target, (), context.options.semantics)
    made = type(driver.made)
    driver.close()
    if any(loaded.sandbox.is_instrumented(base.__module__) for base in made.__mro__):
        return ""
    return (
        f"the target is made of {made.__module__}.{made.__qualname__}, which is not instrumented; "
        "name its package with --instrument, or in kcache_instrument of the factory"
    )


def stress(context: PhaseContext) -> PhaseOutcome:
    """Run random programs on real threads; if one fails without concurrency, report its sequential finding."""
    began = time.monotonic()
    most = inf if context.programs is None else context.programs
    options = StressOptions(
        seconds=context.seconds,
        rounds=context.programs,
        least_rounds=LEAST_PROGRAMS["stress"],
        seed=context.seed,
        strict_errors=context.options.strict_errors,
        patience_seconds=context.options.patience_seconds,
    )
    if context.options.threads is not None:
        options = options.with_threads(context.options.threads)

    told = 0.0

    def on_round(report: StressReport) -> None:
        nonlocal told
        elapsed = time.monotonic() - began
        if elapsed - told >= _PROGRESS_SECONDS:
            told = elapsed
            so_far = PhaseOutcome(_stress_counts(report), None, report.coverage.counts, report.coverage.overlapped)
            context.on_progress(max(report.rounds / most, elapsed / max(elapsed, context.seconds)), so_far)

    def on_finding(finding: Finding) -> None:
        context.on_finding(_with_token(context, finding))

    report = run_stress(context.target, context.options.semantics, options, context.watch, on_round, on_finding)
    coverage, finding = report.coverage, report.finding
    if finding is not None and finding.program is not None and finding.kind is not FindingKind.HANG:
        alone = _in_any_order(context, finding.program)
        finding = finding if alone is None else replace(alone, phase="stress")
    finding = None if finding is None else _with_token(context, finding)
    return PhaseOutcome(
        _stress_counts(report),
        finding,
        coverage.counts,
        coverage.overlapped,
        skipped=("long sessions",) if context.target.may_evict else (),
        sample=report.sample,
    )


def _with_token(context: PhaseContext, finding: Finding) -> Finding:
    if finding.program is None or finding.schedule:
        return finding
    program = finding.program.with_hash_seed(own_hash_seed())
    token = setting_of(INDEXER_OBJECTS, context).token(program, finding.kind)
    return replace(finding, program=program, schedule=token_format(INDEXER_OBJECTS).encode(token))


def _stress_counts(report: StressReport) -> Mapping[str, int]:
    return {
        "programs": report.rounds,
        "operations": report.coverage.counts.total(),
        "overlapping": report.overlapping,
        "undecided": report.undecided,
    }


def _in_any_order(context: PhaseContext, program: Program) -> Finding | None:
    return in_any_order(context.target, program, context.watch, strict_errors=context.options.strict_errors)
