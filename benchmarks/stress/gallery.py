"""How long real threads take to show the faults of the gallery, as `kcache stress` runs them."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from kcache_conformance.results.events import Event, FindingMade, PhaseFinished, PhaseStarted
from kcache_conformance.runs.suite import SuiteOptions, run_suite
from kcache_conformance.targets.gallery import Example, gallery
from kcache_model.indexers.object_type import INDEXER_OBJECTS
from kcache_model.verdict import Status

STRESS = "stress"


@dataclass(frozen=True)
class Hunt:
    """One run on one target.

    Attributes:
        name: the target.
        status: what was said in the end.
        kind: what sort of violation; empty if none was found.
        seconds: from the start of the threads until a violation was seen, or until the end.
        operations: calls of the threads.
        overlapped: those of them that overlapped another.
        calls: how many are shown.
    """

    name: str
    status: Status
    kind: str
    seconds: float
    operations: int
    overlapped: int
    calls: int


class _Clock:
    """Notes when the threads started, and when something was found."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.found: float | None = None

    def __call__(self, event: Event) -> None:
        match event:
            case PhaseStarted():
                self.began = time.monotonic()
            case FindingMade() if self.found is None:
                self.found = time.monotonic()
            case PhaseFinished() if self.found is None:
                self.found = time.monotonic()

    @property
    def seconds(self) -> float:
        return (self.found or time.monotonic()) - self.began


def hunt(name: str, spec: str, seconds: float, seed: int) -> Hunt:
    """Run threads on one target for so long, in a child process."""
    clock = _Clock()
    result = run_suite(spec, SuiteOptions(phases=(STRESS,), budget_seconds=seconds, seed=seed), clock)
    finding = result.findings[0] if result.findings else None
    overlapped = sum(
        count for phase in result.phases for counts in phase.overlapped.values() for count in counts.values()
    )
    return Hunt(
        name,
        result.status,
        "" if finding is None else finding.kind.value,
        clock.seconds,
        sum(phase.counts.get("operations", 0) for phase in result.phases),
        overlapped,
        0 if finding is None else len(finding.calls),
    )


def hunts(subjects: dict[str, str], seconds: float, seeds: int, jobs: int) -> dict[str, list[Hunt]]:
    """Each subject (name -> spec) with each seed."""
    with ThreadPoolExecutor(jobs) as pool:
        futures = {
            name: [pool.submit(hunt, name, spec, seconds, seed) for seed in range(seeds)]
            for name, spec in subjects.items()
        }
        return {name: [future.result() for future in each] for name, each in futures.items()}


def faults(most: int | None) -> dict[str, str]:
    """The targets with concurrent faults."""
    return _specs([example for example in gallery() if example.kind == "concurrent"][:most])


def correct(most: int | None) -> dict[str, str]:
    """The correct designs, and the reference."""
    designs = _specs([example for example in gallery() if example.is_correct][:most])
    return {**designs, "the reference": INDEXER_OBJECTS.reference}


def _specs(examples: list[Example]) -> dict[str, str]:
    return {example.name: f"{example.path}:new_indexer" for example in examples}
