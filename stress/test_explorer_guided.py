"""Coverage-guided sampling: it finds what takes many steps, one after another, and accuses no correct twin of that."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kcache_model.finding import FindingKind
from kcache_model.interleaved_program import InterleavedProgram
from kcache_stress.engine.events import READ, SPAWN, WRITE, Trace
from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.search import SearchLimits, SearchResult, search
from kcache_stress.engine.strategy import Coverage, Strategy
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.modules.copies import Copies
from kcache_stress.strategies.guided import Guided, pairs_of
from kcache_stress.strategies.selective_walk import SelectiveWalk
from kcache_stress.target.explore import ExploreOptions, explore
from kcache_stress.target.scenario_runner import SCENARIO_JUDGE, Load, Scenario, ScenarioRunner
from kcache_stress.target.scenarios import explore_scenario, replay_scenario

CHAIN = """
class Flag:
    is_up = False
    noise = 0

def chain(links, threads, broken_at=None):
    flags = [Flag() for _ in range(links)]
    shared = Flag()
    def work_of(thread):
        def work():
            for link in range(thread, links, threads):
                if link and not flags[link - 1].is_up:
                    return
                for _ in range(2):
                    shared.noise += 1
                flags[link].is_up = link != broken_at
                assert link != links - 1
        return work
    return [work_of(thread) for thread in range(threads)]
"""
"""Two threads look, but once, for what the other one has set, or give up: that the last link is reached is wrong."""

TEST = """
from kcache.testing import run
from .chain import chain

def test_links():
    run(*chain(4, 2))
"""

EXECUTIONS = 250


@pytest.fixture(scope="module")
def copies() -> Copies:
    return Copies(())


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("guided") / "chain.py"
    path.write_text(CHAIN)
    return path


def chain(code: Path, links: int, broken_at: int | None = None) -> Scenario:
    def setup(load: Load) -> list[Callable[[], object]]:
        works: list[Callable[[], object]] = load(code).chain(links, 2, broken_at)
        return works

    return Scenario((), setup)


def searched(scenario: Scenario, strategy: Strategy, most: int, copies: Copies) -> SearchResult[object]:
    return search(ScenarioRunner(scenario, copies), strategy, SCENARIO_JUDGE, SearchLimits(most))


def test_what_is_deep_is_found_and_shown_again(code: Path, copies: Copies) -> None:
    scenario = chain(code, 5)
    found = explore_scenario(scenario, strategy="guided", executions=EXECUTIONS, copies=copies)
    assert found.problem is not None
    assert found.problem.kind is FindingKind.EXCEPTION
    replayed = replay_scenario(scenario, found.schedule, copies=copies)
    assert replayed.followed
    assert replayed.problem is not None
    assert "AssertionError" in replayed.problem.summary


def test_a_chain_that_cannot_hold_is_not_accused(code: Path, copies: Copies) -> None:
    result = searched(chain(code, 5, broken_at=3), Guided(0), EXECUTIONS, copies)
    assert (result.problem, result.executions) == (None, EXECUTIONS)


def test_a_sampler_without_guidance_misses_it(code: Path, copies: Copies) -> None:
    def found(strategy: Callable[[int], Strategy]) -> int:
        return sum(searched(chain(code, 5), strategy(seed), 100, copies).problem is not None for seed in range(6))

    assert found(SelectiveWalk) == 0
    assert found(Guided) > 1


def test_the_seed_decides_all(code: Path, copies: Copies) -> None:
    def traced(seed: int) -> list[list[int]]:
        found: list[list[int]] = []
        runner = ScenarioRunner(chain(code, 5), copies)
        limits = SearchLimits(40)
        search(runner, Guided(seed), None, limits, on_execution=lambda run: found.append([e[0] for e in run.trace]))
        return found

    assert traced(1) == traced(1)
    assert traced(1) != traced(2)


@pytest.mark.parametrize("granularity", [Granularity.GIL, Granularity.SYNC])
def test_other_granularities(code: Path, granularity: Granularity) -> None:
    runner = ScenarioRunner(chain(code, 2), Copies((), granularity))
    assert search(runner, Guided(0), SCENARIO_JUDGE, SearchLimits(EXECUTIONS)).problem is not None


def test_it_ends_when_nothing_is_new(code: Path, copies: Copies) -> None:
    result = searched(chain(code, 2, broken_at=0), Guided(0, patience=20), 5_000, copies)
    assert result.coverage is Coverage.BUDGET_SPENT
    assert 20 < result.executions < 1_000


@pytest.mark.nightly
def test_auto_finds_it_in_a_test(code: Path) -> None:
    path = code.with_name("test_chain.py")
    path.write_text(TEST.replace("from .chain", "from chain"))
    result = explore(
        BodyExplorationTarget(f"{path}:test_links"),
        InterleavedProgram(),
        ExploreOptions(walk=200, executions=1, seconds=60.0),
    )
    assert result.finding is not None


def test_a_pair_is_told_by_threads_and_places_not_by_objects() -> None:
    def pairs(*events: tuple[int, int, str]) -> list[object]:
        class Shared: ...

        shared, own = Shared(), object()
        trace: Trace = [(0, SPAWN, shared, 1), (0, READ, own, "x")]
        trace += [(thread, kind, shared, slot) for thread, kind, slot in events]
        return [[pair[0] and pair[0][:2] for pair in found] for found in pairs_of(trace)]

    assert pairs((0, WRITE, "x"), (1, READ, "x"), (1, READ, "y")) == [[], [], [None], [(0, WRITE)], [None]]
    assert pairs((1, READ, "x"), (0, WRITE, "x"), (0, WRITE, "x")) == [[], [], [None], [None], [(0, WRITE)]]
