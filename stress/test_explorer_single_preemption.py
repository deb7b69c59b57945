"""One preemption, at the places where it can matter: faults that need no more are found in the first executions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kcache_model.interleaved_program import InterleavedProgram
from kcache_stress.engine.search import SearchLimits, SearchResult, search
from kcache_stress.engine.strategy import Coverage
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.strategies.single_preemption import SinglePreemption
from kcache_stress.target.explore import ExploreOptions, explore

BODIES = """
import queue
import threading


class Seats:
    def __init__(self):
        self.free, self.sold, self.lock = 1, 0, threading.Lock()

    def buy(self):
        if self.free > 0:
            self.free -= 1
            self.sold += 1

    def buy_locked(self):
        with self.lock:
            self.buy()


def both(work):
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def the_last_seat():
    seats = Seats()
    both(seats.buy)
    assert seats.sold == 1


def the_last_seat_under_a_lock():
    seats = Seats()
    both(seats.buy_locked)
    assert seats.sold == 1


def loop(put):
    def work():
        for _ in range(200):
            put()

    both(work)


def many_calls():
    seats = Seats()
    seats.free = 1_000
    loop(seats.buy)
    assert seats.sold == 400


def many_calls_under_a_lock():
    seats = Seats()
    seats.free = 1_000
    loop(seats.buy_locked)
    assert seats.sold == 400


def block_and_wait(get):
    waiting = queue.Queue(10)
    producer = threading.Thread(target=lambda: [waiting.put(number) for number in range(16)])
    consumer = threading.Thread(target=lambda: [waiting.get() for _ in range(5)])
    producer.start()
    consumer.start()
    consumer.join()
    assert get(waiting) == 5
    producer.join()


def gets_what_may_not_be_there():
    block_and_wait(queue.Queue.get_nowait)


def waits_for_it():
    block_and_wait(queue.Queue.get)


def prepares_for_long():
    table = {}
    for number in range(30_000):
        table[number] = number
    both(lambda: None)


def polls():
    done = threading.Event()

    def wait():
        for _ in range(3):
            if done.wait(0.01):
                return

    thread = threading.Thread(target=wait)
    thread.start()
    done.set()
    thread.join()
"""


@pytest.fixture
def exploration_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], BodyExplorationTarget]:
    (tmp_path / "single_bodies.py").write_text(BODIES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return lambda name: BodyExplorationTarget(f"single_bodies.py:{name}")


def searched(exploration_target: BodyExplorationTarget, executions: int) -> SearchResult[object]:
    with exploration_target.open_runner(InterleavedProgram()) as (runner, judge):
        return search(runner, SinglePreemption(), judge, SearchLimits(executions))


@pytest.mark.parametrize(
    ("name", "executions"), [("the_last_seat", 10), ("many_calls", 20), ("gets_what_may_not_be_there", 60)]
)
def test_faults_are_found_in_the_first_executions(
    name: str, executions: int, exploration_target: Callable[[str], BodyExplorationTarget]
) -> None:
    found = searched(exploration_target(name), executions)
    assert found.problem is not None
    assert found.execution is not None
    assert found.execution.preemptions == 1


@pytest.mark.parametrize(
    ("name", "executions"), [("the_last_seat_under_a_lock", 50), ("many_calls_under_a_lock", 20), ("waits_for_it", 60)]
)
def test_nothing_is_wrong_with_what_is_right(
    name: str, executions: int, exploration_target: Callable[[str], BodyExplorationTarget]
) -> None:
    found = searched(exploration_target(name), executions)
    assert found.problem is None
    assert found.coverage is Coverage.BUDGET_SPENT
    if name == "the_last_seat_under_a_lock":
        assert found.executions < executions  # it ran out of places


def test_what_one_thread_does_alone_counts_against_no_limit(
    exploration_target: Callable[[str], BodyExplorationTarget],
) -> None:
    explored = explore(
        exploration_target("prepares_for_long"), InterleavedProgram(), ExploreOptions(seconds=60.0, walk=4)
    )
    assert explored.finding is None
    assert explored.is_exhausted


def test_a_wait_that_spoils_the_proof_is_named(exploration_target: Callable[[str], BodyExplorationTarget]) -> None:
    explored = explore(exploration_target("polls"), InterleavedProgram(), ExploreOptions(seconds=60.0))
    assert explored.finding is None
    assert explored.no_proof.startswith("single_bodies.py:"), explored
    assert "in wait: this wait could time out" in explored.no_proof
