"""Comparison of an implementation with the recordings."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from kcache_model.indexers.operations import OperationName
from kcache_model.indexers.program import Program
from kcache_model.indexers.target import Target
from kcache_model.outcomes import ErrorKind

from ...objects.mismatches import Mismatch
from ...objects.sequential import SequentialRun, SequentialSetup
from .scenario import Scenario


@dataclass
class ReplayReport:
    """Result of the replay of one scenario.

    Attributes:
        mismatch: the first wrong outcome that is not known, if there is one.
        steps: the number of steps that were compared.
        skipped: operation that the implementation does not support -> number of steps that were skipped.
        coverage: (operation, outcome) -> number of calls.
    """

    mismatch: Mismatch | None = None
    steps: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    coverage: Counter[tuple[str, str]] = field(default_factory=Counter)


def replay(setup: SequentialSetup, target: Target, scenario: Scenario) -> ReplayReport:
    """Run one scenario on the target of a setup.

    Each outcome must be the outcome of client-go, or of kcache where it deliberately differs. After a call whose index
    function failed, only the outcomes of kcache are accepted. A scenario ends early at a write that the implementation
    does not support or whose finding is known, and at a call that a declaration excludes.
    """
    report = ReplayReport()
    has_failed = False
    run = SequentialRun(setup, Program(scenario.indexes, semantics=scenario.semantics))
    for step in scenario.steps:
        name = step.operation.name
        if name is OperationName.MUTATE and not target.is_strict:
            continue
        if not target.supports(name):
            report.skipped[name.value] += 1
            if step.operation.is_write:
                break
            continue
        if target.may_evict and step.recorded != step.specified:
            break
        has_failed = has_failed or step.specified.error is ErrorKind.INDEX_FUNC
        # Some outcomes differ from the recorded ones without indices, and after a write that failed.
        is_as_recorded = not has_failed and not target.is_strict
        deviation = (step.specified, step.recorded) if is_as_recorded else None
        report.mismatch = run.step(step.operation, deviation)
        report.steps += run.was_called
        if not run.was_called or report.mismatch is not None or run.is_over:
            break
    report.coverage.update(run.coverage)
    run.close()
    return report
