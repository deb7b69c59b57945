"""Selective walk: what it learns of some executions must not keep it from the others."""

from collections import Counter
from pathlib import Path

import pytest

from kcache_model.interleaved_program import InterleavedProgram
from kcache_stress.engine.search import SearchLimits, search
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.strategies.selective_walk import SelectiveWalk

POOL = """
import threading
from concurrent.futures import ThreadPoolExecutor


class Stats:
    def __init__(self):
        self._lock = threading.Lock()
        self._counts = {}
        self._total = 0

    def hit(self, name):
        with self._lock:
            self._counts[name] = self._counts.get(name, 0) + 1
        self._total += 1

    def hit_safe(self, name):
        with self._lock:
            self._total += 1


def run_all(jobs):
    with ThreadPoolExecutor(max_workers=2) as pool:
        return [one.result() for one in [pool.submit(job) for job in jobs]]


def test_racy():
    stats = Stats()
    run_all([lambda: stats.hit("a"), lambda: stats.hit("a")])
    assert stats._total == 2


def test_safe():
    stats = Stats()
    run_all([lambda: stats.hit_safe("a"), lambda: stats.hit_safe("a")])
    assert stats._total == 2
"""
"""A pool starts its second worker only while the first is busy: where it is always done by then, nothing goes wrong."""

SEEDS = range(6)
WALKS = 100


def walked(folder: Path, name: str, seed: int) -> tuple[bool, Counter[int]]:
    """Whether a test fails within some walks, and in how many of these there were so many threads."""
    (folder / "pool.py").write_text(POOL, encoding="utf-8")
    threads: Counter[int] = Counter()
    with BodyExplorationTarget(f"{folder / 'pool.py'}:{name}").open_runner(InterleavedProgram()) as made:
        found = search(
            made.runner,
            SelectiveWalk(seed),
            made.judge,
            SearchLimits(WALKS),
            on_execution=lambda execution: threads.update([execution.actors]),
        )
    return found.problem is not None, threads


@pytest.mark.parametrize("seed", SEEDS)
def test_walks_in_which_a_worker_does_all_do_not_lead_to_more_of_these(seed: int, tmp_path: Path) -> None:
    is_accused, threads = walked(tmp_path, "test_safe", seed)
    assert not is_accused
    assert threads.keys() == {2, 3}
    assert threads[3] >= WALKS // 10


def test_its_racy_twin_is_found(tmp_path: Path) -> None:
    assert any(walked(tmp_path, "test_racy", seed)[0] for seed in SEEDS)
