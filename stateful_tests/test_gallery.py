"""The gallery of examples: what is wrong must be caught, what is right must pass."""

from __future__ import annotations

import functools
import os

import pytest

from kcache.testing import ConformanceError, Target, run_conformance
from kcache_conformance.gallery import Example, gallery
from kcache_conformance.recorded.corpus import scenarios
from kcache_conformance.recorded.replay import replay
from kcache_conformance.recorded.scenario import Scenario
from kcache_conformance.smoke import smoke
from kcache_conformance.state_machine import make_state_machine, run_examples
from kcache_model.items import Semantics
from kcache_stress.loading import load_target
from kcache_stress.probing import probe
from kcache_stress.stress import StressOptions, stress

EXAMPLES = gallery()
SEQUENTIAL = [example for example in EXAMPLES if example.kind == "sequential"]
CONCURRENT = [example for example in EXAMPLES if example.kind == "concurrent"]
CORRECT = [example for example in EXAMPLES if example.is_correct]

SEQUENTIAL_PHASES = ("smoke", "vectors", "machine")

NIGHTLY = os.environ.get("KCACHE_HYPOTHESIS_PROFILE") == "nightly"
MACHINE_EXAMPLES = 300 if NIGHTLY else 12
STRESS_ROUNDS = 2000 if NIGHTLY else 50
EXPLORED = CONCURRENT[1 :: 2 if NIGHTLY else 8]
STRESSED = CONCURRENT[:: 1 if NIGHTLY else 6]


def spec(example: Example) -> str:
    return f"{example.path}:new_indexer"


def name(example: Example) -> str:
    return example.name


def loaded(example: Example) -> Target:
    return probe(load_target(spec(example)), Semantics.CLASSIC)


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


@pytest.mark.parametrize("example", SEQUENTIAL, ids=name)
def test_a_sequential_fault_is_caught_with_a_small_example(example: Example) -> None:
    with pytest.raises(ConformanceError) as caught:
        run_conformance(spec(example), phases=SEQUENTIAL_PHASES, seconds=240)
    (finding,) = caught.value.result.findings
    assert finding.program is not None
    assert finding.program.is_sequential
    assert len(finding.program) <= 8
    assert "kcache replay" in str(caught.value)


@pytest.mark.parametrize("example", CONCURRENT, ids=name)
def test_a_concurrent_fault_is_right_in_one_thread(example: Example) -> None:
    target = loaded(example)
    assert smoke(target, Semantics.CLASSIC) is None
    assert run_examples(make_state_machine(target, Semantics.CLASSIC), MACHINE_EXAMPLES, 0) is None


@pytest.mark.parametrize("example", EXPLORED, ids=name)
def test_the_explorer_as_a_phase_finds_a_concurrent_fault(example: Example) -> None:
    """Some; the explorer's own tests have them all."""
    with pytest.raises(ConformanceError) as caught:
        run_conformance(spec(example), phases=("explorer",), seconds=240)
    (finding,) = caught.value.result.findings
    assert finding.phase == "explorer"
    assert finding.schedule
    assert "kcache replay kx1." in str(caught.value)


@pytest.mark.parametrize("example", STRESSED, ids=name)
def test_stress_finds_a_concurrent_fault(example: Example) -> None:
    """Real threads owe nobody a schedule: what is not found in the budget is reported, not failed."""
    try:
        run_conformance(spec(example), phases=("stress",), seconds=8)
    except ConformanceError as error:
        (finding,) = error.result.findings
        assert finding.program is not None
        assert finding.calls
    else:
        pytest.xfail("stress did not find it in 8 s")


@pytest.mark.parametrize("example", CORRECT, ids=name)
def test_a_correct_design_passes(example: Example) -> None:
    """All but the explorer, whose own tests explore these designs too."""
    target = loaded(example)
    assert smoke(target, Semantics.CLASSIC, strict_errors=True) is None
    for scenario in recorded():
        assert replay(target, scenario, strict_errors=True).finding is None
    machine = make_state_machine(target, Semantics.CLASSIC, strict_errors=True)
    assert run_examples(machine, MACHINE_EXAMPLES, 0) is None
    options = StressOptions(seconds=240.0, rounds=STRESS_ROUNDS, strict_errors=True)
    report = stress(target, Semantics.CLASSIC, options)
    assert report.finding is None
    assert report.rounds == STRESS_ROUNDS
