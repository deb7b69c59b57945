"""The gallery of examples: what is wrong must be caught, what is right must pass."""

from __future__ import annotations

import pytest

from kcache.testing import ConformanceError, run_conformance
from kcache_conformance.gallery import Example, gallery

EXAMPLES = gallery()
SEQUENTIAL = [example for example in EXAMPLES if example.kind == "sequential"]
CONCURRENT = [example for example in EXAMPLES if example.kind == "concurrent"]
CORRECT = [example for example in EXAMPLES if example.is_correct]

SEQUENTIAL_PHASES = ("smoke", "vectors", "machine")


def spec(example: Example) -> str:
    return f"{example.path}:new_indexer"


def name(example: Example) -> str:
    return example.name


def test_the_gallery_is_what_it_claims() -> None:
    assert len(SEQUENTIAL) + len(CONCURRENT) >= 70
    assert len(CORRECT) >= 20
    files = {path.stem for path in EXAMPLES[0].path.parent.glob("*.py")}
    assert files == {example.name for example in EXAMPLES}
    assert all(example.summary for example in EXAMPLES)


@pytest.mark.parametrize("example", SEQUENTIAL, ids=name)
def test_a_sequential_fault_is_caught_with_a_small_example(example: Example) -> None:
    with pytest.raises(ConformanceError) as caught:
        run_conformance(spec(example), phases=SEQUENTIAL_PHASES, seconds=60)
    (finding,) = caught.value.result.findings
    assert finding.program is not None
    assert finding.program.is_sequential
    assert len(finding.program) <= 8
    assert "kcache replay" in str(caught.value)


@pytest.mark.parametrize("example", CONCURRENT, ids=name)
def test_a_concurrent_fault_is_right_in_one_thread(example: Example) -> None:
    run_conformance(spec(example), phases=("smoke", "machine"), seconds=1.0)


@pytest.mark.parametrize("example", CONCURRENT[1::4], ids=name)
def test_the_explorer_as_a_phase_finds_a_concurrent_fault(example: Example) -> None:
    """One in four; the explorer's own tests have them all."""
    with pytest.raises(ConformanceError) as caught:
        run_conformance(spec(example), phases=("explorer",), seconds=60)
    (finding,) = caught.value.result.findings
    assert finding.phase == "explorer"
    assert finding.schedule
    assert "kcache replay kx1." in str(caught.value)


@pytest.mark.parametrize("example", CONCURRENT[::3], ids=name)
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
    run_conformance(spec(example), phases=("smoke", "vectors"), seconds=120, strict_errors=True)
    run_conformance(spec(example), phases=("machine", "explorer", "stress"), seconds=4, strict_errors=True)
