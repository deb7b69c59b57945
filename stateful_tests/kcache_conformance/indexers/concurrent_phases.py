"""The phases on an Indexer with several threads: the explorer, and stress with real threads."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from kcache_model.finding import Finding, FindingKind
from kcache_model.history import FINAL_THREAD
from kcache_model.indexers.driver import Driver
from kcache_model.indexers.object_type import INDEXER_OBJECTS
from kcache_model.indexers.program import History, Program
from kcache_stress.indexers.exploration import explored_indexer
from kcache_stress.indexers.programs.random_programs import explorer_program
from kcache_stress.indexers.rounds import stress_rounds
from kcache_stress.objects.object_exploration import ObjectExplorationTarget
from kcache_stress.objects.threads import ObjectStress, Round
from kcache_stress.real_threads.coverage import overlapping
from kcache_stress.target.explore import ExploreOptions, hunting

from ..objects.concurrent_phases import stress_phase
from ..objects.context import own_patience, setting_of
from ..phases.budget_slices import LEAST_PROGRAMS
from ..phases.explorer_phase import Search, explorer_phase
from ..phases.phase import PhaseContext, PhaseOutcome
from .sequential import in_any_order

_MOST_THREADS = 4
"""The most threads of a program, if ``--threads`` does not say otherwise."""
_LONGEST_SAMPLE = 30
"""Most calls of a sample."""
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
    if any(loaded.sandbox.owned.is_instrumented(base.__module__) for base in made.__mro__):
        return ""
    return (
        f"the class of the target, {made.__module__}.{made.__qualname__}, is not instrumented; "
        "name its package with --instrument, or in kcache_instrument of the factory"
    )


def stress(context: PhaseContext) -> PhaseOutcome:
    """Run random programs on real threads; if one fails without concurrency, report its sequential finding."""
    setting = setting_of(INDEXER_OBJECTS, context)
    threads = context.options.threads or _MOST_THREADS
    run = ObjectStress(context.target, setting, context.watch, context.seed, own_patience(context), threads)
    sample: History | None = None

    def played() -> Iterator[tuple[Program, Round]]:
        nonlocal sample
        for program, found in stress_rounds(run, context.target, setting, context.seed, context.options.threads):
            sample = _better_sample(sample, program, found)
            yield program, found

    outcome = stress_phase(context, run, played(), least=LEAST_PROGRAMS["stress"])
    finding = outcome.finding
    if finding is not None and finding.program is not None and finding.kind is not FindingKind.HANG:
        alone = _in_any_order(context, finding.program)
        outcome = outcome if alone is None else replace(outcome, finding=replace(alone, phase="stress"))
    skipped = (*outcome.skipped, *(("long sessions",) if context.target.may_evict else ()))
    return replace(outcome, sample=sample, skipped=skipped)


def _better_sample(best: History | None, program: Program, result: Round) -> History | None:
    """Return the history with more overlapping calls; ``best`` if the other one has more than ``_LONGEST_SAMPLE``.

    A sample is read at a glance. It has no final reads, because they show nothing of interest.
    """
    calls = tuple(call for call in result.calls if call.thread != FINAL_THREAD)
    if not result.is_fine or len(calls) > _LONGEST_SAMPLE:
        return best
    if sum(overlapping(calls)) <= (0 if best is None else sum(overlapping(best.calls))):
        return best
    return History(program.indexes, calls, program.semantics, program.may_evict)


def _in_any_order(context: PhaseContext, program: Program) -> Finding | None:
    return in_any_order(context.target, program, context.watch, strict_errors=context.options.strict_errors)
