"""The gallery of informers: what is wrong must be caught, small and again; what is right must pass."""

from __future__ import annotations

import functools
from collections import Counter

import pytest

from kcache_conformance.informers.findings import TOKENS
from kcache_conformance.informers.target_type import INFORMER
from kcache_conformance.phases.phase import PhaseContext, PhaseOutcome
from kcache_conformance.targets.gallery import Example, informer_gallery
from kcache_model.progress import NoProgress

EXAMPLES = informer_gallery()


SEQUENTIAL, CONCURRENT, CORRECT = (
    [example for example in EXAMPLES if example.kind == kind] for kind in ("sequential", "concurrent", "design")
)
ONE_BY_ONE = ("smoke", "litmus", "stateful")
"""The phases in which nothing but the informer's own threads are concurrent."""


def name(example: Example) -> str:
    return example.name


@functools.lru_cache(maxsize=2)
def spec_of(example: Example) -> str:
    return f"{example.path}:make"


def run(example: Example, phase: str, seconds: float, seed: int = 0) -> PhaseOutcome:
    spec = spec_of(example)
    return INFORMER.phases[phase](PhaseContext(INFORMER.load(spec), spec, seconds=seconds, seed=seed))


def require_found_again(outcome: PhaseOutcome) -> None:
    finding = outcome.finding
    assert finding is not None
    assert finding.script
    assert finding.schedule.startswith(TOKENS.prefix)
    again = INFORMER.replay(TOKENS.decode(finding.schedule), NoProgress())
    assert again.answer.value == "reproduced"
    assert again.finding is not None
    assert again.finding.kind is finding.kind


def test_the_gallery_is_what_it_claims() -> None:
    kinds = Counter(example.kind for example in EXAMPLES)
    assert kinds["sequential"] + kinds["concurrent"] >= 20
    assert kinds["design"] >= 4
    assert all(example.is_correct == (example.kind == "design") for example in EXAMPLES)
    assert {path.stem for path in EXAMPLES[0].path.parent.glob("*.py")} == set(map(name, EXAMPLES))
    assert all(example.summary for example in EXAMPLES)


@pytest.mark.nightly
@pytest.mark.parametrize("example", SEQUENTIAL, ids=name)
def test_a_sequential_fault_is_found_without_meddling_threads(example: Example) -> None:
    outcomes = (run(example, phase, 120) for phase in ONE_BY_ONE)
    require_found_again(next(outcome for outcome in outcomes if outcome.finding is not None))


@pytest.mark.nightly
@pytest.mark.parametrize("example", CONCURRENT, ids=name)
def test_a_concurrent_fault_is_found_by_the_explorer(example: Example) -> None:
    assert run(example, "litmus", 120).finding is None
    require_found_again(run(example, "explorer", 120))


@pytest.mark.one_in(20, start=5)
@pytest.mark.parametrize("phase", INFORMER.phases)
@pytest.mark.parametrize("example", CORRECT, ids=name)
def test_a_correct_design_passes(example: Example, phase: str) -> None:
    outcome = run(example, phase, 120 if phase == "litmus" else 0.5)
    assert outcome.finding is None
    assert outcome.counts["programs"]
    assert not outcome.refused
