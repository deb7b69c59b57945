import pytest

from benchmarks.explorer.sctbench.catalog import PROGRAMS
from benchmarks.explorer.sctbench.hunting import POLICY, STRATEGIES, copies, hunt
from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.strategy import Coverage
from kcache_stress.strategies.selective_walk import SelectiveWalk

QUICK = ["account", "bluetooth_driver", "carter01", "deadlock01", "reorder_5", "twostage", "phil_deadlock_5"]
LARGE = ["twostage_100", "reorder_50", "reorder_100"]
EXHAUSTED = ["account", "deadlock01", "lazy01", "twostage", "token_ring", "sync01", "wronglock_3"]
"""Whose correct twins have so few interleavings that all of them are run."""

FOREVER = 3600.0


@pytest.fixture(scope="module")
def given():
    return copies()


@pytest.mark.parametrize("name", QUICK)
def test_some_are_found_soon(name, given):
    found = hunt(name, STRATEGIES[POLICY], 1, FOREVER, given)
    assert found.found
    assert found.executions < 300


@pytest.mark.nightly
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_are_found(name, given):
    assert hunt(name, STRATEGIES[POLICY], 0, FOREVER, given).found


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in LARGE])
def test_no_correct_twin_is_accused(name, given, effort):
    samples = effort(10, 1_000)
    ran = hunt(name, lambda seed: [(SelectiveWalk(seed), samples)], 0, FOREVER, given, is_bad=False)
    assert (ran.found, ran.executions) == ("", samples)


@pytest.mark.nightly
@pytest.mark.parametrize("name", LARGE)
def test_no_large_twin_is_accused(name, given):
    assert not hunt(name, lambda seed: [(SelectiveWalk(seed), 30)], 0, FOREVER, given, is_bad=False).found


@pytest.mark.parametrize("name", EXHAUSTED)
def test_small_twins_are_exhausted(name, given):
    ran = hunt(name, lambda _: [(Dpor(), 2_000)], 0, FOREVER, given, is_bad=False)
    assert (ran.found, ran.coverage) == ("", Coverage.EXHAUSTED)
