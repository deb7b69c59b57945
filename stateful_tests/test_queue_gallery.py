"""The gallery of queues: what is wrong must be caught, and by which phase; what is right must pass."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

from kcache_conformance.phases.phase import PhaseContext, PhaseOutcome
from kcache_conformance.targets.gallery import QueueExample, queue_gallery
from kcache_conformance.targets.target_type import TargetType
from kcache_conformance.targets.target_types import TARGET_TYPES
from kcache_model.progress import NoProgress

EXAMPLES = queue_gallery()
FAULTY = [example for example in EXAMPLES if not example.is_correct]
SEQUENTIAL = [example for example in FAULTY if example.kind == "sequential"]
CONCURRENT = [example for example in FAULTY if example.kind == "concurrent"]
CORRECT = [example for example in EXAMPLES if example.is_correct]
Effort = Callable[[float, float], float]
HELPERS = {"changes_by_key", "guarded_queue"}


def name(example: QueueExample) -> str:
    return example.name


@functools.cache
def loaded(example: QueueExample) -> tuple[TargetType, object, str]:
    kind = TARGET_TYPES[example.makes]
    spec = f"{example.path}:new_queue"
    return kind, kind.load(spec), spec


def run(example: QueueExample, phase: str, seconds: float) -> PhaseOutcome:
    kind, target, spec = loaded(example)
    return kind.phases[phase](PhaseContext(target, spec, seconds=seconds))


def test_the_gallery_is_what_it_claims() -> None:
    assert len(FAULTY) >= 30
    assert len(CORRECT) >= 6
    files = {path.stem for path in EXAMPLES[0].path.parent.glob("*.py")}
    assert files == {example.name for example in EXAMPLES} | HELPERS
    assert all(example.summary for example in EXAMPLES)


@pytest.mark.one_in(9)
@pytest.mark.parametrize("example", FAULTY, ids=name)
def test_a_fault_is_found_by_its_phase_with_a_small_example(example: QueueExample) -> None:
    outcome = run(example, example.found_by, seconds=120)
    assert outcome.finding is not None
    assert outcome.finding.script
    kind = TARGET_TYPES[example.makes]
    assert outcome.finding.schedule.startswith(kind.tokens.prefix)
    again = kind.replay(kind.tokens.decode(outcome.finding.schedule), NoProgress())
    assert again.answer.value == "reproduced"
    assert again.finding is not None
    assert again.finding.kind is outcome.finding.kind


@pytest.mark.one_in(6)
@pytest.mark.parametrize("example", CONCURRENT, ids=name)
def test_a_concurrent_fault_is_right_in_one_thread(example: QueueExample, effort: Effort) -> None:
    assert example.found_by == "explorer"
    for phase in ("smoke", "recorded", "stateful"):
        assert run(example, phase, seconds=effort(0.0, 0.5)).finding is None


@pytest.mark.one_in(4)
@pytest.mark.parametrize("example", CORRECT, ids=name)
def test_a_correct_design_passes(example: QueueExample, effort: Effort) -> None:
    for phase in TARGET_TYPES[example.makes].phases:
        outcome = run(example, phase, seconds=effort(0.05, 1.0))
        assert outcome.finding is None
        assert outcome.refused or outcome.counts["programs"]
