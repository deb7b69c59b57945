"""Holds an implementation against the recordings."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from kcache_model.finding import Finding, FindingKind
from kcache_model.indexers.driver import Driver
from kcache_model.indexers.indexer_model import IndexerModel
from kcache_model.indexers.journal import begin
from kcache_model.indexers.journal import step as journal_step
from kcache_model.indexers.operations import OperationName
from kcache_model.indexers.program import Program
from kcache_model.indexers.target import FAILING_FUNCTIONS, INDEXES, Target
from kcache_model.outcomes import ErrorKind, Outcome
from kcache_model.progress import NoProgress, ProgressListener
from kcache_model.render import operation_text, outcome_text

from .scenario import RecordedStep, Scenario


@dataclass
class ReplayReport:
    """What one scenario showed.

    Attributes:
        finding: the first wrong outcome, if there is one.
        steps: how many steps were compared.
        skipped: operations that the implementation does not support -> how often they were left out.
        coverage: operations by outcome.
    """

    finding: Finding | None = None
    steps: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    coverage: Counter[tuple[str, str]] = field(default_factory=Counter)


def replay(
    target: Target, scenario: Scenario, *, strict_errors: bool = False, watch: ProgressListener | None = None
) -> ReplayReport:
    """Run one scenario; each outcome must be client-go's, or kcache's where that is better on purpose.

    A scenario ends early where it needs a write that the implementation does not support.
    """
    report = ReplayReport()
    indexes = () if INDEXES in target.unsupported else scenario.indexes
    watch = watch or NoProgress()
    done: list[RecordedStep] = []
    model = IndexerModel(scenario.semantics)
    state = model.initial(indexes)
    begin(watch, Program(indexes, semantics=scenario.semantics))
    driver = Driver(target, indexes, scenario.semantics)
    for step in scenario.steps:
        name = step.operation.name
        if name is OperationName.MUTATE and not target.is_strict:
            continue
        if not target.supports(name):
            report.skipped[name.value] += 1
            if step.operation.is_write:
                break
            continue
        state, specified = model.apply(state, step.operation)
        if specified.error is ErrorKind.INDEX_FUNC and FAILING_FUNCTIONS in target.unsupported:
            break
        done.append(step)
        journal_step(watch, step.operation)
        observed = driver.run(step.operation)
        report.steps += 1
        report.coverage[name.value, "ok" if observed.error is None else observed.error] += 1
        # Without indices some outcomes are others than those recorded.
        accepted = (specified, step.recorded) if specified == step.specified else (specified,)
        if not any(observed.agrees_with(outcome, strict_errors=strict_errors) for outcome in accepted):
            program = Program(indexes, tuple(step.operation for step in done), (), scenario.semantics)
            report.finding = _finding(scenario, step, specified, observed, program)
            break
    driver.close()
    watch.rest()
    return report


def _finding(
    scenario: Scenario, step: RecordedStep, specified: Outcome, observed: Outcome, program: Program
) -> Finding:
    raises = observed.error is not None and specified.error is None
    verb = "raised" if observed.error is not None else "returned"
    return Finding(
        kind=FindingKind.EXCEPTION if raises else FindingKind.DIVERGENCE,
        phase="recorded",
        summary=(
            f"{operation_text(step.operation)} {verb} {outcome_text(observed)}; "
            f"client-go gives {outcome_text(specified)} ({scenario.title})"
        ),
        program=program,
        step=len(program.prefix) - 1,
        expected=specified,
        observed=observed,
        scenario=scenario.id,
    )
