"""An update that readers see as a removal and an addition, under the explorer: one writer, one reader."""

from __future__ import annotations

from pathlib import Path

from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item
from kcache_model.indexers.program import Program
from kcache_stress.engine.counterexample import Counterexample, counterexample, smallest
from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.execution import Problem
from kcache_stress.engine.granularity import REWRITTEN, Granularity
from kcache_stress.engine.search import SearchResult, search
from kcache_stress.indexers.exploration import explored_indexer

TARGETS = Path(__file__).parents[1] / "targets"


def version(number: int) -> Item:
    """The object, which stays under one key and on one node."""
    return Item("pod", f"v{number}", {"node": ("n1",)})


UPDATE_MEETS_READ = Program(
    indexes=("node",),
    prefix=(op.add(version(1)),),
    threads=((op.update(version(2)),), (op.get_by_key("pod"),)),
)


def explored(
    target: str, granularity: Granularity = Granularity.FREE
) -> tuple[SearchResult, Counterexample | Problem | None]:
    """Every interleaving of the program on one of the targets, and the smallest counterexample."""
    subject = explored_indexer(f"{TARGETS / target}.py:new_indexer", granularity=granularity)
    runner = subject.runner(UPDATE_MEETS_READ)
    judge = subject.judge(UPDATE_MEETS_READ, runner)
    result = search(runner, Dpor(), judge)
    if result.problem is None:
        return result, None
    found = counterexample(runner, judge, result)
    return result, smallest(runner, judge, found) if isinstance(found, Counterexample) else found


def main() -> None:
    """Explore the faulty target and the textbook."""
    for target in ("update_removes_first", "textbook"):
        for granularity in REWRITTEN:
            result, shown = explored(target, granularity)
            spent = f"{result.executions} executions, {result.seconds * 1000:.1f} ms"
            print(f"{target}, switches: {granularity}: {result.problem or result.coverage} ({spent})")
            if isinstance(shown, Counterexample):
                print("   ", shown.schedule, "preemptions:", shown.preemptions, "minimal:", shown.is_minimal)
                print("   ", shown.execution.outcomes)


if __name__ == "__main__":
    main()
