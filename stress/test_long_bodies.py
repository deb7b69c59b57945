"""Executions of one test may differ in length: a long one is not endless."""

from __future__ import annotations

from pathlib import Path

from body_support import searched
from kcache_stress.explorer.strategies.random_walk import RandomWalk

BODIES = """
def test_longer_if_the_second_thread_begins():
    lock, begun = threading.Lock(), []

    def work(calls):
        begun.append(calls)
        for _ in range(begun[0]):
            with lock: pass

    started(lambda: work(2_000), lambda: work(10_000))

def test_endless_if_the_second_thread_begins():
    lock, begun = threading.Lock(), []

    def work(calls):
        begun.append(calls)
        while begun[0] == 10_000:
            with lock: pass

    started(lambda: work(2_000), lambda: work(10_000))
"""


class Walk(RandomWalk):
    """The first thread begins in its first schedule; the second one in a later schedule."""

    def __init__(self) -> None:
        super().__init__(2)


def test_an_execution_that_is_longer_than_the_first_is_not_endless(tmp_path: Path) -> None:
    longer, endless = searched(tmp_path, BODIES, 5, Walk)
    assert (longer.problem, longer.events > 40_000) == ("", True)
    assert "go on for ever" in endless.problem
