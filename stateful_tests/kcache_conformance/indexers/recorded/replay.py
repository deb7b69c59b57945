"""Comparison of an implementation with the recordings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields

from kcache_model.finding import Finding
from kcache_model.indexers.driver import Driver
from kcache_model.indexers.eviction import model_of
from kcache_model.indexers.journal import begin
from kcache_model.indexers.journal import step as journal_step
from kcache_model.indexers.operations import Operation, OperationName
from kcache_model.indexers.program import Program
from kcache_model.indexers.restrictions import is_avoided, restricted
from kcache_model.indexers.target import INDEXES, Target
from kcache_model.outcomes import ErrorKind
from kcache_model.progress import NoProgress, ProgressListener

from ..sequential import disagreement
from .scenario import Scenario


@dataclass
class ReplayReport:
    """Result of the replay of one scenario.

    Attributes:
        finding: the first wrong outcome that is not known, if there is one.
        steps: the number of steps that were compared.
        skipped: operation that the implementation does not support -> number of steps that were skipped.
        coverage: (operation, outcome) -> number of calls.
    """

    finding: Finding | None = None
    steps: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    coverage: Counter[tuple[str, str]] = field(default_factory=Counter)


def replay(
    target: Target,
    scenario: Scenario,
    *,
    strict_errors: bool = False,
    watch: ProgressListener | None = None,
    is_known: Callable[[Finding], bool] = lambda _: False,
) -> ReplayReport:
    """Run one scenario; each outcome must be the outcome of client-go, or of kcache where it deliberately differs.

    After a call whose index function failed, only the outcomes of kcache are accepted. A scenario ends early at a
    write that the implementation does not support or whose finding is known, and at a call that a declaration excludes.
    """
    report = ReplayReport()
    indexes = () if INDEXES in target.unsupported else scenario.indexes
    watch = watch or NoProgress()
    done: list[Operation] = []
    has_failed = False
    program = Program(indexes, semantics=scenario.semantics, may_evict=target.may_evict)
    model = model_of(program)
    state = model.initial(indexes)
    begin(watch, program)
    driver = Driver(target, indexes, scenario.semantics)
    for step in scenario.steps:
        operation = restricted(step.operation, target)
        name = operation.name
        if name is OperationName.MUTATE and not target.is_strict:
            continue
        if not target.supports(name):
            report.skipped[name.value] += 1
            if operation.is_write:
                break
            continue
        _, specified = model.apply(state, operation)
        if is_avoided(operation, specified.error, target, state.indexes) or (
            target.may_evict and step.recorded != step.specified
        ):
            break
        has_failed = has_failed or specified.error is ErrorKind.INDEX_FUNC
        done.append(operation)
        journal_step(watch, operation)
        observed = driver.call(operation)
        state, specified = model.respond(state, operation, observed)
        report.steps += 1
        report.coverage[name.value, "ok" if observed.error is None else observed.error] += 1
        # Some outcomes differ from the recorded ones without indices, and after a write that failed.
        is_as_recorded = specified == step.specified and not has_failed and not target.is_strict
        accepted = (specified, step.recorded) if is_as_recorded else (specified,)
        if not any(observed.agrees_with(outcome, strict_errors=strict_errors) for outcome in accepted):
            program = replace_fields(program, prefix=tuple(done))
            found = disagreement(program, specified, observed, "client-go")
            summary = f"{found.summary} ({scenario.title})"
            found = replace_fields(found, phase="recorded", summary=summary, scenario=scenario.id)
            if not is_known(found):
                report.finding = found
                break
            if operation.is_write:
                break
    driver.close()
    watch.rest()
    return report
