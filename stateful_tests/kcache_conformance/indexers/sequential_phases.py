"""The sequential phases on an Indexer: smoke test, recordings, state machine.

A phase stops at its first finding, minimises the program of the finding, and returns its counts and coverage.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from kcache_model.finding import Finding
from kcache_model.indexers.items import Semantics
from kcache_model.indexers.operations import OperationName
from kcache_model.indexers.program import Program
from kcache_model.indexers.target import Target

from ..phases.phase import Coverage, PhaseContext, PhaseOutcome
from .recorded.corpus import scenario_count, scenarios
from .recorded.replay import replay
from .recorded.scenario import Scenario
from .sequential import run_program
from .smallest import MOST_SECONDS, smallest
from .smoke import smoke

_BATCH_EXAMPLES = 25


def smoke_test(context: PhaseContext) -> PhaseOutcome:
    """Run the smoke test: the most common operations with usual arguments, see :func:`.smoke.smoke`."""
    for target in _judged(context):
        finding = smoke(
            target,
            context.options.semantics,
            strict_errors=context.options.strict_errors,
            watch=context.watch,
            is_known=context.is_known,
        )
        if finding is not None:
            return PhaseOutcome({"programs": 1}, _smallest(context, target, "smoke", finding))
    return PhaseOutcome({"programs": 1})


def recorded(context: PhaseContext) -> PhaseOutcome:
    """Replay the recorded scenarios of client-go, and compare the outcomes of the target."""
    total = scenario_count()
    counts = Counter(programs=0, operations=0, of=total)
    coverage: Coverage = Counter()
    skipped: Counter[str] = Counter()
    finding = None
    begins_at = _left_at(context) or next(_scenarios(context.options.semantics)).id
    of_all = (
        (target, one)
        for target in _judged(context)
        for one in itertools.dropwhile(lambda one: one.id != begins_at, _scenarios(context.options.semantics))
        if target.is_strict == context.target.is_strict or _is_misuse(one)
    )
    for target, scenario in of_all:
        report = replay(
            target,
            scenario,
            strict_errors=context.options.strict_errors,
            watch=context.watch,
            is_known=context.is_known,
        )
        if target.is_strict == context.target.is_strict:
            counts.update(programs=1, operations=report.steps)
            coverage.update(report.coverage)
            skipped.update(report.skipped)
        context.on_progress(counts["programs"] / total, PhaseOutcome(counts))
        if report.finding is not None:
            finding = _smallest(context, target, "recorded", report.finding)
            break
    return PhaseOutcome(counts, finding, coverage, skipped=tuple(sorted(skipped)))


def _left_at(context: PhaseContext) -> str:
    """The id of the scenario of the last finding, where the phase continues; the scenarios before it had no finding."""
    return next((one.scenario for one in reversed(context.known.findings) if one.phase == "recorded"), None) or ""


def _scenarios(semantics: Semantics) -> Iterator[Scenario]:
    """The recorded scenarios. Translating a scenario takes longer than running it, so each is translated once."""
    kept = _translated(semantics)
    kept[0], found = itertools.tee(kept[0])
    return found


@functools.cache
def _translated(semantics: Semantics) -> list[Iterator[Scenario]]:
    return [iter(scenarios(semantics))]


def _is_misuse(scenario: Scenario) -> bool:
    """Whether the scenario changes stored objects in place, which only strict targets must tolerate."""
    return any(step.operation.name is OperationName.MUTATE for step in scenario.steps)


def _judged(context: PhaseContext) -> Iterator[Target]:
    """Yield the target, then the target judged strictly, whose findings are advice."""
    yield context.target
    if not context.target.is_strict:
        yield replace(context.target, is_strict=True)


def stateful(context: PhaseContext) -> PhaseOutcome:
    """Run random sequential programs of the state machine."""
    from .state_machine import make_state_machine, run_examples  # Hypothesis takes most of the import time

    coverage: Coverage = Counter()
    counts = Counter(programs=0, operations=0)
    machine = make_state_machine(
        context.target,
        context.options.semantics,
        strict_errors=context.options.strict_errors,
        watch=context.watch,
        coverage=coverage,
        is_known=context.is_known,
    )
    finding = None
    for batch, (examples, fraction) in enumerate(context.steps(at_once=_BATCH_EXAMPLES)):
        context.on_progress(fraction, PhaseOutcome(counts, None, coverage))
        found = run_examples(machine, examples, context.seed * 1_000_003 + batch)
        counts.update(programs=examples)
        counts["operations"] = coverage.total()
        if found is not None:
            finding = _smallest(context, context.target, "stateful", found)
            break
    return PhaseOutcome(counts, finding, coverage)


def _smallest(context: PhaseContext, target: Target, phase: str, finding: Finding) -> Finding:
    """Return the finding of the smallest program with the same symptom; the finding unchanged if it does not recur."""
    finding = replace(finding, phase=phase)
    if finding.program is None:
        return finding
    context.on_finding(finding)
    symptoms = context.known.symptoms_of(finding)
    rule = context.known.rules.get(finding.rule)
    is_of_state = rule is not None and rule.is_of_state  # the last write may then be another

    def run(program: Program, judged: Target) -> Finding | None:
        return run_program(
            judged,
            program,
            strict_errors=context.options.strict_errors,
            reads_back=phase != "recorded",  # recordings are compared by outcomes only
            watch=context.watch,
            is_known=context.known.has,
        )

    best = smallest(
        finding,
        target,
        run,
        lambda found: is_of_state or not symptoms.isdisjoint(context.known.symptoms_of(found)),
        seconds=context.seconds_within(MOST_SECONDS),
    )
    if best is not finding and finding.program.is_unsteady and best.program is not None:
        best = replace(best, program=replace(best.program, is_unsteady=True))
    return replace(best, phase=phase, scenario=finding.scenario)
