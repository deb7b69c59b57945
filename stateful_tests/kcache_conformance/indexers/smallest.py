"""Smallest sequential program that still shows a finding about an Indexer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kcache_model.finding import Finding
from kcache_model.indexers.object_type import INDEXER_OBJECTS
from kcache_model.indexers.program import Program
from kcache_model.indexers.target import Target
from kcache_model.object_types.smaller import smaller

from .diagnosis import Run, diagnosed

MOST_SECONDS: Final = 5.0
_MOST_ATTEMPTS: Final = 2000
"""Each attempt takes about a millisecond: most programs of one thread are minimal after some hundred."""


def smallest(
    finding: Finding,
    target: Target,
    run: Run,
    is_same: Callable[[Finding], bool] = lambda _: True,
    *,
    seconds: float = MOST_SECONDS,
) -> Finding:
    """Return the finding of the smallest program that breaks the same rule at the same location.

    The finding is returned unchanged if its own program does not fail again.

    Args:
        finding: the finding; it has a program.
        target: the implementation as it was judged.
        run: runs a program on a target and returns the finding, or ``None``.
        is_same: a further condition on the findings of smaller programs.
        seconds: limit of wall-clock time; at most :data:`MOST_SECONDS` are used.
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
    smaller(
        INDEXER_OBJECTS,
        finding.program,
        fails,
        seconds=min(MOST_SECONDS, seconds),
        attempts=_MOST_ATTEMPTS,
        stays_concurrent=False,
    )
    return diagnosed(best, target, run)
