"""A search that is cut short names the places whose orders cost most executions; one that ends names none."""

from pathlib import Path

import pytest

from kcache_model.interleaved_program import InterleavedProgram
from kcache_stress.engine.strategy import Coverage
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.target.explore import Explored, ExploreOptions, explore

BODY = """
import threading

class Stock:
    def __init__(self):
        self.count, self.lock = 0, threading.Lock()

def test_it():
    stock = Stock()
    def work():
        for _ in range(ROUNDS):
            BODY
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""


def explored(folder: Path, body: str, rounds: int) -> Explored:
    file = folder / "test_places.py"
    file.write_text(BODY.replace("ROUNDS", str(rounds)).replace("BODY", body), encoding="utf-8")
    options = ExploreOptions("dpor", executions=40, seconds=60.0)
    return explore(BodyExplorationTarget(f"{file}:test_it"), InterleavedProgram(), options)


@pytest.mark.parametrize(
    ("body", "place"), [("stock.count += 1", "Stock.count"), ("with stock.lock: stock.count += 1", "locks")]
)
def test_the_place_with_most_orders_comes_first(body: str, place: str, tmp_path: Path) -> None:
    cut_short = explored(tmp_path, body, 6)
    assert (cut_short.finding, cut_short.coverage) == (None, Coverage.BUDGET_SPENT)
    assert cut_short.contended.split(", ")[0] == place
    assert explored(tmp_path, body, 1).contended == ""
