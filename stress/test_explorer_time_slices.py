"""Time slices find what threads of a pool do to each other, and what so many preemptions show is made small."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcache_model.interleaved_program import InterleavedProgram
from kcache_stress.engine.counterexample import Counterexample, counterexample, smallest
from kcache_stress.engine.search import SearchLimits, search
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.strategies.pct import Pct
from kcache_stress.strategies.single_preemption import SinglePreemption
from kcache_stress.strategies.time_slices import TimeSlices
from stress.material.body_support import searched

POOL = """
from concurrent.futures import ThreadPoolExecutor

class Limit:
    def __init__(self, most):
        self.left = most
        self.lock = threading.Lock()

    def take(self):
        left = self.left
        if left:
            self.left = left - 1
        return bool(left)

    def take_locked(self):
        with self.lock:
            return self.take()

def taken(take):
    with ThreadPoolExecutor(6) as pool:
        return sum(pool.map(lambda _: take(), range(60)))

def test_takes():
    assert taken(Limit(10).take) == 10

def test_takes_with_a_lock():
    assert taken(Limit(10).take_locked) == 10

def taken_after_a_while(take):
    taken = []

    def work(number):
        time.sleep(number % 7 / 10_000)
        if take():
            taken.append(number)

    started(*(lambda number=number: work(number) for number in range(30)))
    return len(taken)

def test_sleeps():
    assert taken_after_a_while(Limit(10).take) == 10

def test_sleeps_with_a_lock():
    assert taken_after_a_while(Limit(10).take_locked) == 10
"""

LOOPS = """
def test_counts():
    counts = [0]

    def work():
        for _ in range(100):
            count = counts[0]
            counts[0] = count + 1

    started(work, work, work)
    assert counts == [300]
"""


@pytest.mark.parametrize(
    ("name", "is_wrong"),
    {
        "test_takes": True,
        "test_takes_with_a_lock": False,
        "test_sleeps": True,
        "test_sleeps_with_a_lock": False,
    }.items(),
)
def test_threads_meet_that_take_from_one_queue_or_sleep_almost_equally_long(
    tmp_path: Path, name: str, is_wrong: bool
) -> None:
    (found,) = searched(tmp_path, POOL, 5, lambda: TimeSlices(9), [name])  # type: ignore[arg-type]
    assert bool(found.problem) == is_wrong, found


def test_other_strategies_let_one_thread_of_the_pool_take_all(tmp_path: Path) -> None:
    for strategy in (SinglePreemption, lambda: Pct(0)):
        (found,) = searched(tmp_path, POOL, 5, strategy, ["test_takes"])  # type: ignore[arg-type]
        assert not found.problem


def test_what_needs_few_preemptions_is_made_small(tmp_path: Path) -> None:
    list(searched(tmp_path, LOOPS, 1, lambda: TimeSlices(0)))  # type: ignore[arg-type]
    with BodyExplorationTarget(f"{tmp_path / 'bodies.py'}:test_counts").open_runner(InterleavedProgram()) as (
        runner,
        judge,
    ):
        found = counterexample(runner, judge, search(runner, TimeSlices(0), judge, SearchLimits(5, 60.0)))
        assert isinstance(found, Counterexample)
        assert found.preemptions > 5
        assert smallest(runner, judge, found, 60.0).preemptions == 1
