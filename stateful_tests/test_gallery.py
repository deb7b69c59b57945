"""The gallery of examples: what is wrong must be caught, what is right must pass."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

import pytest

from kcache.testing import ConformanceError, Target, run_conformance
from kcache_conformance.indexers.phases import PHASES
from kcache_conformance.indexers.recorded.corpus import scenarios
from kcache_conformance.indexers.recorded.scenario import Scenario
from kcache_conformance.phases.phase import PhaseContext
from kcache_conformance.results.events import SuiteResult
from kcache_conformance.runs.suite import SuiteOptions, run_suite
from kcache_conformance.targets.gallery import Example, gallery
from kcache_model.indexers.items import Semantics
from kcache_model.indexers.probing import probe
from kcache_stress.indexers.target_loading import load_target
from stateful_tests.material.indexer_runs import replay, run_machine, smoke

EXAMPLES = gallery()
SEQUENTIAL = [example for example in EXAMPLES if example.kind == "sequential"]
CONCURRENT = [example for example in EXAMPLES if example.kind == "concurrent"]
CORRECT = [example for example in EXAMPLES if example.is_correct]

SEQUENTIAL_PHASES = ("smoke", "recorded", "stateful")

Effort = Callable[[int, int], int]


def spec(example: Example) -> str:
    return f"{example.path}:new_indexer"


def name(example: Example) -> str:
    return example.name


def loaded(example: Example) -> Target:
    return probe(replace(load_target(spec(example)), is_strict=True), Semantics.CLASSIC)


@functools.cache
def recorded() -> tuple[Scenario, ...]:
    """Translated once for all the targets; that takes longer than to run them."""
    return tuple(scenarios(Semantics.CLASSIC))


def test_the_gallery_is_what_it_claims() -> None:
    assert len(SEQUENTIAL) + len(CONCURRENT) >= 70
    assert len(CORRECT) >= 20
    files = {path.stem for path in EXAMPLES[0].path.parent.glob("*.py")}
    assert files == {example.name for example in EXAMPLES}
    assert all(example.summary for example in EXAMPLES)


@pytest.mark.one_in(12, start=1)
@pytest.mark.parametrize("example", SEQUENTIAL, ids=name)
def test_a_sequential_fault_is_caught_with_a_small_example(example: Example) -> None:
    phases = SEQUENTIAL_PHASES[: 2 if example.is_strict else 3]
    options = SuiteOptions(phases=phases, budget_seconds=240, most_findings=1)
    require_small(example, run_suite(loaded(example), options))


@pytest.mark.one_in(20)
@pytest.mark.parametrize("example", SEQUENTIAL, ids=name)
def test_a_sequential_fault_is_caught_in_a_process_of_its_own(example: Example) -> None:
    if example.is_strict:
        require_small(example, run_conformance(spec(example), phases=("smoke", "recorded"), seconds=240))
        return
    with pytest.raises(ConformanceError) as caught:
        run_conformance(spec(example), phases=SEQUENTIAL_PHASES, seconds=240, most_findings=1)
    require_small(example, caught.value.result)
    assert "kcache replay" in str(caught.value)


def require_small(example: Example, result: SuiteResult) -> None:
    assert all(finding.is_advice for finding in result.findings) == example.is_strict
    finding = result.findings[0]
    assert finding.program is not None
    assert finding.program.is_sequential
    assert len(finding.program) <= 8 or (example.is_strict and finding.scenario)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("example", CONCURRENT, ids=name)
def test_a_concurrent_fault_is_right_in_one_thread(example: Example, effort: Effort) -> None:
    target = loaded(example)
    assert smoke(target, Semantics.CLASSIC) is None
    assert run_machine(target, effort(4, 300)) is None


@pytest.mark.one_in(96)
@pytest.mark.parametrize("example", CONCURRENT[::-1], ids=name)
def test_the_explorer_as_a_phase_finds_a_concurrent_fault(example: Example) -> None:
    """Some; the explorer's own tests have them all."""
    with pytest.raises(ConformanceError) as caught:
        run_conformance(spec(example), phases=("explorer",), seconds=240, most_findings=1)
    (finding,) = caught.value.result.findings
    assert finding.phase == "explorer"
    assert finding.schedule
    assert "kcache replay kx1." in str(caught.value)


@pytest.mark.nightly
@pytest.mark.parametrize("example", CONCURRENT, ids=name)
def test_stress_finds_a_concurrent_fault(example: Example) -> None:
    """Real threads owe nobody a schedule: what is not found in the budget is reported, not failed."""
    try:
        run_conformance(spec(example), phases=("stress",), seconds=8, most_findings=1)
    except ConformanceError as error:
        (finding,) = error.result.findings
        assert finding.program is not None
        assert finding.calls
    else:
        pytest.xfail("stress did not find it in 8 s")


@pytest.mark.one_in(16)
@pytest.mark.parametrize("example", CORRECT, ids=name)
def test_a_correct_design_passes(example: Example, effort: Effort) -> None:
    """All but the explorer, whose own tests explore these designs too."""
    target = loaded(example)
    assert smoke(target, Semantics.CLASSIC, strict_errors=True) is None
    for scenario in recorded()[:: effort(12, 1)]:
        assert replay(target, scenario, strict_errors=True).finding is None
    assert run_machine(target, effort(4, 300), strict_errors=True) is None
    rounds = effort(6, 2000)
    options = SuiteOptions(strict_errors=True)
    outcome = PHASES["stress"](PhaseContext(target, options=options, programs=rounds))
    assert outcome.finding is None
    assert outcome.counts["programs"] == rounds
