"""Smallest program of one thread that still shows a finding about an Indexer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kcache_model.finding import Finding
from kcache_model.indexers.minimise import MinimiseBudget, minimise
from kcache_model.indexers.program import Program
from kcache_model.indexers.target import Target

from .diagnosis import Run, diagnosed

MOST_SECONDS: Final = 5.0


def smallest(
    finding: Finding,
    target: Target,
    run: Run,
    is_same: Callable[[Finding], bool] = lambda _: True,
    *,
    seconds: float = MOST_SECONDS,
) -> Finding:
    """The finding of the smallest program that breaks the same rule; the finding as it is if no program does.

    Args:
        finding: has a program.
        target: the implementation as it was judged.
        run: runs a program on a target; what is wrong.
        is_same: what else is asked of what smaller programs show.
        seconds: how long to try.
    """
    assert finding.program is not None
    best = finding

    def fails(program: Program) -> bool:
        nonlocal best
        found = run(program, target)
        if found is None or (found.rule, found.location) != (finding.rule, finding.location) or not is_same(found):
            return False
        best = found
        return True

    if not fails(finding.program):
        return finding
    minimise(finding.program, fails, MinimiseBudget(seconds=min(MOST_SECONDS, seconds)))
    return diagnosed(best, target, run)
