"""Runs of Indexers in tests: the smoke test, recordings and random programs, without the suite around them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import NamedTuple

from kcache_conformance.indexers.recorded import replay as recorded_replay
from kcache_conformance.indexers.recorded.scenario import Scenario
from kcache_conformance.indexers.sequential import run_program
from kcache_conformance.indexers.smoke import ignored_default, shared_instance, smoke_programs
from kcache_conformance.indexers.strategies import rules_for
from kcache_conformance.objects.mismatches import Mismatch, finding_of
from kcache_conformance.objects.patient_caller import DirectCaller
from kcache_conformance.objects.sequential import SequentialSetup
from kcache_conformance.objects.state_machine import make_state_machine, run_examples
from kcache_conformance.phases.phase import Coverage
from kcache_model.finding import Finding
from kcache_model.indexers.items import Semantics
from kcache_model.indexers.object_type import INDEXER_OBJECTS
from kcache_model.indexers.target import Target
from kcache_model.progress import NoProgress, ProgressListener
from kcache_stress.objects.findings import Setting


@contextmanager
def setup_of(
    target: Target, *, strict_errors: bool = False, watch: ProgressListener | None = None, checks_steps: bool = True
) -> Iterator[SequentialSetup]:
    """The setup of sequential runs, with a caller of its own."""
    with closing(DirectCaller()) as caller:
        yield SequentialSetup(
            INDEXER_OBJECTS,
            target,
            caller,
            watch or NoProgress(),
            strict_errors=strict_errors,
            checks_steps=checks_steps,
        )


def finding_on(target: Target, mismatch: Mismatch | None) -> Finding | None:
    """The finding of a mismatch."""
    return None if mismatch is None else finding_of(Setting(INDEXER_OBJECTS, target.name), "", mismatch)


def smoke(target: Target, semantics: Semantics = Semantics.CLASSIC, *, strict_errors: bool = False) -> Finding | None:
    """Run the smoke test."""
    target, watch = replace(target, semantics=semantics), NoProgress()
    finding = shared_instance(target, watch)
    for program in smoke_programs(target):
        finding = finding or run_program(target, program, strict_errors=strict_errors)
    return finding or ignored_default(target, watch)


class Replayed(NamedTuple):
    """The replay of a recording."""

    finding: Finding | None
    steps: int
    skipped: Counter[str]


def replay(target: Target, scenario: Scenario, *, strict_errors: bool = False) -> Replayed:
    """Replay a recording."""
    with setup_of(target, strict_errors=strict_errors, checks_steps=False) as setup:
        report = recorded_replay.replay(setup, target, scenario)
    return Replayed(finding_of_recording(target, scenario, report.mismatch), report.steps, report.skipped)


def finding_of_recording(target: Target, scenario: Scenario, mismatch: Mismatch | None) -> Finding | None:
    """The finding of a mismatch, with the id of the recording."""
    setting = Setting(INDEXER_OBJECTS, target.name)
    return None if mismatch is None else finding_of(setting, "recorded", mismatch, scenario=scenario.id)


def run_machine(
    target: Target,
    examples: int,
    seed: int = 0,
    *,
    semantics: Semantics = Semantics.CLASSIC,
    strict_errors: bool = False,
    coverage: Coverage | None = None,
    watch: Callable[[], ProgressListener] = NoProgress,
) -> Finding | None:
    """Run random programs."""
    target = replace(target, semantics=semantics)
    with setup_of(target, strict_errors=strict_errors, watch=watch()) as setup:
        machine = make_state_machine(setup, Counter() if coverage is None else coverage, rules_for(target))
        return finding_on(target, run_examples(machine, examples, seed)[0])
