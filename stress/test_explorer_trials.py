"""A trial: a short exhaustive search before the samples. If it proves nothing, it costs no finding, and no proof."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcache_model.finding import FindingKind
from kcache_model.interleaved_program import InterleavedProgram
from kcache_stress.engine.dpor import DivergedError, Dpor
from kcache_stress.engine.strategy import Coverage, Strategy
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.runtime.threads.scheduler import Scheduler
from kcache_stress.strategies.partial_order_sampling import PartialOrderSampling
from kcache_stress.target.exploration_result import ExplorationResult
from kcache_stress.target.explore import ExploreOptions, explore
from kcache_stress.target.investigation import investigate

BODIES = """
import threading


def counted(add):
    threads = [threading.Thread(target=add) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Counter:
    def __init__(self):
        self.count, self.lock = 0, threading.Lock()

    def add(self):
        count = self.count
        self.count = count + 1

    def add_locked(self):
        with self.lock:
            self.add()


def test_racy():
    counter = Counter()
    counted(counter.add)
    assert counter.count == 2


def test_locked():
    counter = Counter()
    counted(counter.add_locked)
    assert counter.count == 2
"""


class Blind(Dpor):
    """Ends after one execution, in which some code was not seen."""

    def has_more(self) -> bool:
        self.proof_obstacles["unseen.py:1: calls code in C"] = None
        return False


class Diverging(Dpor):
    """Cannot repeat what it did."""

    def choose(self, running: int) -> int:
        raise DivergedError(f"thread {running + 1} is somewhere else")


@pytest.fixture
def bodies(tmp_path: Path) -> Path:
    file = tmp_path / "test_bodies.py"
    file.write_text(BODIES, encoding="utf-8")
    return file


def found(file: Path, name: str, first: Strategy, *, is_trial: bool) -> ExplorationResult[object]:
    exploration_target = BodyExplorationTarget(f"{file}:{name}")
    first.is_trial = is_trial
    return investigate(
        lambda _: exploration_target.open_runner(InterleavedProgram()),
        lambda _: [(first, 10), (Dpor(), 1_000)],
        seconds=600.0,
    )


def test_what_a_blind_trial_misses_is_found_by_those_behind_it(bodies: Path) -> None:
    result = found(bodies, "test_racy", Blind(), is_trial=True)
    assert result.problem is not None
    assert result.problem.kind is FindingKind.FAILURE
    alone = found(bodies, "test_racy", Blind(), is_trial=False)
    assert (alone.problem, alone.coverage) == (None, Coverage.NO_PROOF)


def test_what_it_does_not_see_is_no_doubt_about_those_behind_it(bodies: Path) -> None:
    result = found(bodies, "test_locked", Blind(), is_trial=True)
    assert (result.problem, result.coverage, result.note) == (None, Coverage.EXHAUSTED, "")


def test_a_trial_that_cannot_be_repeated_is_left_out(bodies: Path) -> None:
    result = found(bodies, "test_racy", Diverging(), is_trial=True)
    assert result.problem is not None
    assert result.problem.kind is FindingKind.FAILURE
    alone = found(bodies, "test_racy", Diverging(), is_trial=False)
    assert alone.problem is not None
    assert alone.problem.kind is FindingKind.NONDETERMINISM


def test_a_small_test_is_exhausted_by_the_trial_alone(bodies: Path) -> None:
    exploration_target = BodyExplorationTarget(f"{bodies}:test_locked")
    options = ExploreOptions(walk=200, seconds=600.0)
    result = explore(exploration_target, InterleavedProgram(), options)
    assert result.coverage is Coverage.EXHAUSTED
    assert result.executions - result.audited.executions <= 20


class Once(Dpor):
    """Has one execution in all, and runs none beyond that."""

    coverage = Coverage.BUDGET_SPENT
    executions = 0

    def begin(self, scheduler: Scheduler) -> None:
        Once.executions += 1
        assert Once.executions == 1
        super().begin(scheduler)

    def has_more(self) -> bool:
        return False


def test_a_strategy_that_has_no_more_is_not_asked_a_second_time(tmp_path: Path) -> None:
    file = tmp_path / "bodies.py"
    file.write_text(BODIES, encoding="utf-8")
    exploration_target = BodyExplorationTarget(f"{file}:test_locked")
    once, other = Once(), PartialOrderSampling(0)
    result = investigate(
        lambda _: exploration_target.open_runner(InterleavedProgram()),
        lambda _: [(once, 5), (other, 5), (once, 5)],
        seconds=60.0,
    )
    assert (result.problem, Once.executions) == (None, 1)


KEEPS_A_LOCK = """
import logging, threading


def test_keeps_the_lock_of_logging():
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
    logging._lock.acquire()
"""


def test_a_lock_that_an_execution_kept_does_not_stop_the_next_one(tmp_path: Path) -> None:
    file = tmp_path / "bodies.py"
    file.write_text(KEEPS_A_LOCK, encoding="utf-8")
    options = ExploreOptions(samples=2, walk=2, executions=5, seconds=60.0)
    explored = explore(BodyExplorationTarget(f"{file}:test_keeps_the_lock_of_logging"), InterleavedProgram(), options)
    assert (explored.finding, explored.refused) == (None, "")
