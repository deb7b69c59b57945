"""Threads that start, join and ask after other threads: what Dpor shows is exactly what brute force shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.granularity import REWRITTEN, Granularity
from kcache_stress.engine.search import SearchLimits, search
from kcache_stress.engine.strategy import Coverage, Strategy
from kcache_stress.modules.copies import Copies
from kcache_stress.strategies.guided import Guided
from kcache_stress.strategies.naive import Naive
from kcache_stress.strategies.selective_walk import SelectiveWalk
from kcache_stress.target.scenario_runner import Load, Scenario, ScenarioRunner

CODE = """
import threading

class Shared:
    def __init__(self):
        self.value = 0
        self.lock = threading.Lock()
        self.made = threading.Thread(target=self.add, name="made")

    def add(self):
        self.value = self.value + 1

    def start(self):
        try:
            self.made.start()
        except RuntimeError as error:
            return str(error)
        return self.value

    def start_another(self):
        another = threading.Thread(target=self.add)
        another.start()
        return another.ident - threading.get_ident(), self.value

    def start_and_join(self):
        another = threading.Thread(target=self.add)
        another.start()
        another.join()
        return self.value, another.is_alive()

    def is_alive(self):
        return self.made.is_alive(), self.made.ident is None and "not yet"

    def join(self):
        try:
            self.made.join()
        except RuntimeError as error:
            return str(error)
        return self.value

    def join_soon(self):
        try:
            self.made.join(1.0)
        except RuntimeError as error:
            return str(error)
        return self.made.is_alive()

    def count(self):
        return threading.active_count(), sorted(thread.name for thread in threading.enumerate())

    def fail(self):
        with self.lock:
            raise ValueError

    def start_failing(self):
        failing = threading.Thread(target=self.fail)
        failing.start()
        failing.join()
        return self.lock.locked()
"""

PROGRAMS = [
    ("start", "start"),
    ("start", "is_alive"),
    ("start", "join"),
    ("start", "join_soon"),
    ("start", "count"),
    ("start_another", "start_another"),
    ("start_another", "count"),
    ("start", "start_another"),
    ("start_and_join", "add"),
    ("start_and_join", "is_alive"),
    ("start_failing", "add"),
    ("start", "start", "is_alive"),
    ("start", "is_alive", "is_alive"),
]


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("steps") / "thread_steps.py"
    path.write_text(CODE)
    return path


@pytest.fixture(scope="module", params=REWRITTEN)
def copies(request: pytest.FixtureRequest) -> Copies:
    granularity: Granularity = request.param
    return Copies((), granularity)


def seen(runner: ScenarioRunner, strategy: Strategy, most: int) -> tuple[set[object], Coverage]:
    """All that the threads return, and how the search ended."""
    found: set[object] = set()

    def look(execution: Any) -> None:
        found.add((execution.ending, execution.problem and execution.problem.summary, repr(execution.outcomes)))

    return found, search(runner, strategy, None, SearchLimits(most), on_execution=look).coverage


@pytest.mark.one_in(4)
@pytest.mark.parametrize("methods", PROGRAMS, ids="-".join)
def test_reduction_loses_nothing(
    code: Path, copies: Copies, methods: Sequence[str], effort: Callable[[int, int], int]
) -> None:
    def setup(load: Load) -> list[Callable[[], object]]:
        shared = load(code).Shared()
        return [getattr(shared, method) for method in methods]

    runner = ScenarioRunner(Scenario((), setup), copies)
    reduced, coverage = seen(runner, Dpor(), 5_000)
    assert coverage in (Coverage.EXHAUSTED, Coverage.NO_PROOF)
    everything, brute_force = seen(runner, Naive(), effort(300, 20_000))
    sampled, _ = seen(runner, SelectiveWalk(1), 40)
    guided, _ = seen(runner, Guided(1), 40)
    assert everything | sampled | guided <= reduced
    if brute_force in (Coverage.EXHAUSTED, Coverage.NO_PROOF):
        assert everything == reduced
