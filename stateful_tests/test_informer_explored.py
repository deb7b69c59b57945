"""kcache's own informers under the explorer: no deadlock, no lost wakeup, no lost event at the bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kcache_conformance.informers import replaying
from kcache_conformance.informers.findings import InformerToken
from kcache_conformance.informers.informer_exploration import informer_exploration_target
from kcache_conformance.informers.litmus_tests import CONCURRENT, CROWDED, SEQUENTIAL
from kcache_conformance.informers.quiet import quiet
from kcache_conformance.informers.random_programs import random_program
from kcache_conformance.informers.target_type import INFORMER
from kcache_model.finding import FindingKind
from kcache_model.informers.program import InformerProgram
from kcache_model.progress import NoProgress
from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.strategy import Coverage
from kcache_stress.target.explore import Explored, ExploreOptions, explore
from kcache_stress.target.scenarios import Copies, Load, Scenario, ScenarioResult, explore_scenario

REFERENCE = "kcache.informers:SharedIndexInformer"
COVERED = (Coverage.EXHAUSTED, Coverage.BOUND_REACHED)
ENOUGH = 10**6


@pytest.mark.nightly
@pytest.mark.one_in(48, start=1)
@pytest.mark.parametrize("program", SEQUENTIAL.values(), ids=SEQUENTIAL)
def test_every_sequential_program_keeps_the_rules(program: Any) -> None:
    assert informer_exploration_target(REFERENCE).run_once(program) is None


def bounded(program: Any, preemptions: int, seconds: float) -> Explored:
    options = ExploreOptions("bounded", executions=ENOUGH, seconds=seconds, preemptions=preemptions)
    return explore(informer_exploration_target(REFERENCE), program, options)


@pytest.mark.one_in(28, start=1)
@pytest.mark.parametrize("program", CONCURRENT.values(), ids=CONCURRENT)
def test_all_interleavings_without_preemptions(program: Any) -> None:
    explored = bounded(program, 0, 280)
    assert explored.finding is None
    assert explored.coverage in COVERED
    assert explored.executions > 10


@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("program", CONCURRENT.values(), ids=CONCURRENT)
def test_all_interleavings_with_one_preemption(program: Any) -> None:
    explored = bounded(program, 1, 1500)
    assert explored.finding is None
    if explored.coverage not in COVERED:
        pytest.skip(f"nothing is wrong in {explored.executions:,} interleavings; there are more")


@pytest.mark.nightly
@pytest.mark.parametrize("granularity", [Granularity.SYNC, Granularity.FREE])
def test_samples_with_any_number_of_preemptions(granularity: Granularity, effort: Callable[[int, int], int]) -> None:
    exploration_target = informer_exploration_target(REFERENCE).at(granularity)
    options = ExploreOptions("pos", executions=effort(3, 40), seconds=60)
    samples = (random_program(seed) for seed in range(effort(2, 400)))
    for program in (*CONCURRENT.values(), *CROWDED.values(), *samples):
        assert explore(exploration_target, program, options).finding is None, program


@pytest.mark.nightly
def test_a_schedule_that_does_not_fail_any_more_is_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replaying, "SEARCHES", replaying.SEARCHES[:1])
    token = InformerToken(REFERENCE, InformerProgram(), FindingKind.DIVERGENCE, ((0, 1),), Granularity.SYNC)
    assert INFORMER.replay(token, NoProgress()).answer.value == "fixed"


INSTRUMENT = (
    "kcache.informers",
    "kcache.queues",
    "kcache.store",
    "kcache.thread_safe_store",
    "kcache_conformance.informers",
)


def explored(setup: Callable[[Load], Sequence[Callable[[], object]]], preemptions: int) -> ScenarioResult:
    with quiet():
        return explore_scenario(
            Scenario(INSTRUMENT, setup),
            strategy="bounded",
            preemptions=preemptions,
            seconds=280,
            executions=ENOUGH,
            copies=Copies(INSTRUMENT, Granularity.SYNC),
        )


def factory_of(load: Load) -> tuple[Any, Any]:
    """A factory with an informer of one type, whose objects are there."""
    informers: Any = load("kcache.informers")
    fake_server: Any = load("kcache_conformance.informers.fake_server")
    server = fake_server.FakeServer()
    server.create("a")
    factory = informers.SharedInformerFactory()
    factory.for_resource("Pod", server)
    return factory, server


@pytest.mark.nightly
def test_a_factory_is_started_by_two_threads_and_shut_down() -> None:
    def setup(load: Load) -> Sequence[Callable[[], object]]:
        factory, server = factory_of(load)

        def start_and_shut_down() -> None:
            factory.start()
            factory.wait_for_cache_sync()
            assert factory.shutdown()
            assert [str(request) for request in server.requests][:1] == ['LIST rv="0" limit=500']

        return [start_and_shut_down, factory.start]

    result = explored(setup, preemptions=0)
    assert result.problem is None
    assert result.coverage in COVERED


@pytest.mark.nightly
def test_two_threads_ask_a_factory_for_the_same_type() -> None:
    def setup(load: Load) -> Sequence[Callable[[], object]]:
        factory, server = factory_of(load)
        found: list[Any] = []

        def ask() -> None:
            found.append(factory.for_resource("Node", server))
            if len(found) == 2:
                assert found[0] is found[1]

        return [ask, ask]

    result = explored(setup, preemptions=2)
    assert result.problem is None
    assert result.coverage in COVERED


@pytest.mark.one_in(2)
@pytest.mark.parametrize("is_started", [True, False])
def test_a_factory_is_shut_down_while_it_is_started(is_started: bool) -> None:
    def setup(load: Load) -> Sequence[Callable[[], object]]:
        factory, _ = factory_of(load)
        if is_started:
            factory.start()

        def end() -> None:
            assert factory.shutdown()
            assert factory.shutdown()

        def start() -> None:
            factory.start()
            factory.shutdown()

        return [end, start]

    result = explored(setup, preemptions=0)
    assert result.problem is None
    assert result.coverage in COVERED
