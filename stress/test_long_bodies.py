"""Executions of one test may differ in length: a long one is not endless."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from kcache_model.interleaved_program import InterleavedProgram
from kcache_model.progress import NoProgress
from kcache_stress.interleaved import runner
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.strategies.random_walk import RandomWalk
from kcache_stress.target.explore import ExploreOptions, explore
from stress.material.body_support import searched

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

BODY = """
import threading

def test():
    lock = threading.Lock()

    def work():
        for _ in range(1_500):
            with lock:
                pass

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


class Walk(RandomWalk):
    """The first thread begins in its first schedule; the second one in a later schedule."""

    def __init__(self) -> None:
        super().__init__(2)


def test_an_execution_that_is_longer_than_the_first_is_not_endless(tmp_path: Path) -> None:
    longer, endless = searched(tmp_path, BODIES, 5, Walk)
    assert (longer.problem, longer.events > 40_000) == ("", True)
    assert "run forever" in endless.problem


@pytest.mark.parametrize(("seconds", "is_too_long"), [(0.0, True), (600.0, False)])
def test_a_test_whose_executions_take_too_long_is_not_explored(
    seconds: float, is_too_long: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_MOST_SECONDS", seconds)
    file = tmp_path / "body.py"
    file.write_text(BODY, encoding="utf-8")
    found = explore(BodyExplorationTarget(f"{file}:test"), InterleavedProgram(), ExploreOptions(executions=2))
    assert ("too long: one execution takes more than" in found.refused) is is_too_long
    assert found.finding is None


LOSES = """
import threading
import json

def test():
    kept = []

    def work():
        json.dumps({"what": "runs unseen"})
        if not kept:
            kept.append(1)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kept) == 1
"""


class Talking(NoProgress):
    """Runs code that the explorer does not know, to say that the test is alive."""

    def alive(self) -> None:
        json.dumps({"alive": Counter("abc")})


def test_what_the_explorer_does_while_it_records_is_no_part_of_the_interleaving(tmp_path: Path) -> None:
    file = tmp_path / "loses.py"
    file.write_text(LOSES)
    found = explore(BodyExplorationTarget(f"{file}:test"), InterleavedProgram(), ExploreOptions(), Talking()).finding
    assert found is not None
    assert found.interleaving is not None
    assert found.interleaving.followed
    assert "confirmed on" in found.detail
