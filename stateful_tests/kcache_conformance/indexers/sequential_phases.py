"""The phases on an Indexer with one thread: smoke test, recordings, state machine."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Final

from kcache_model.indexers.items import Semantics
from kcache_model.indexers.object_type import INDEXER_OBJECTS
from kcache_model.indexers.operations import OperationName
from kcache_model.indexers.target import Target

from ..objects.patient_caller import DirectCaller
from ..objects.phases import SequentialPhases
from ..phases.phase import Coverage, PhaseContext, PhaseOutcome
from .recorded.corpus import scenario_count, scenarios
from .recorded.replay import replay
from .recorded.scenario import Scenario
from .smoke import ignored_default, shared_instance, smoke_programs

_SEQUENTIAL: Final = SequentialPhases(INDEXER_OBJECTS)


def smoke_test(context: PhaseContext) -> PhaseOutcome:
    """Run the smoke test: the most common operations with usual arguments, see :mod:`.smoke`."""
    for target in _judged(context):
        shared = shared_instance(target, context.watch)
        if shared is not None:  # other tests would fail only because of it
            return PhaseOutcome({"programs": 1}, None if context.is_known(shared) else shared)
        outcome = _SEQUENTIAL.run_all(replace(context, target=target), "smoke", smoke_programs(target))
        if outcome.finding is not None:
            return outcome
        ignored = ignored_default(target, context.watch)
        if ignored is not None and not context.is_known(ignored):
            return PhaseOutcome({"programs": 1}, ignored)
    return PhaseOutcome({"programs": 1})


def recorded(context: PhaseContext) -> PhaseOutcome:
    """Replay the recorded scenarios of client-go, and compare the outcomes of the target."""
    total = scenario_count()
    counts = Counter(programs=0, operations=0, of=total)
    coverage: Coverage = Counter()
    skipped: Counter[str] = Counter()
    begins_at = _left_at(context) or next(_scenarios(context.options.semantics)).id
    of_all = (
        (target, one)
        for target in _judged(context)
        for one in itertools.dropwhile(lambda one: one.id != begins_at, _scenarios(context.options.semantics))
        if target.is_strict == context.target.is_strict or _is_misuse(one)
    )
    with closing(DirectCaller()) as caller:
        for target, scenario in of_all:
            judged = replace(context, target=target)
            setup = _SEQUENTIAL.setup(judged, caller, checks_steps=False)
            report = replay(setup, target, scenario)
            if target.is_strict == context.target.is_strict:
                counts.update(programs=1, operations=report.steps)
                coverage.update(report.coverage)
                skipped.update(report.skipped)
            context.on_progress(counts["programs"] / total, PhaseOutcome(counts))
            if report.mismatch is not None:
                why = f"client-go, {scenario.title}"
                finding = _SEQUENTIAL.finding(judged, "recorded", report.mismatch, setup, why=why, scenario=scenario.id)
                return PhaseOutcome(counts, finding, coverage, skipped=tuple(sorted(skipped)))
    return PhaseOutcome(counts, None, coverage, skipped=tuple(sorted(skipped)))


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
    from .strategies import rules_for  # Hypothesis takes most of the import time

    return _SEQUENTIAL.stateful(context, rules_for(context.target))
