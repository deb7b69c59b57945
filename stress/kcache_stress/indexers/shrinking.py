"""Shrinking of concurrent findings: runs smaller programs many times until one of them fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from kcache_model.finding import Finding, FindingKind
from kcache_model.indexers.object_type import INDEXER_OBJECTS
from kcache_model.indexers.program import Program
from kcache_model.object_types.smaller import smaller as smaller_program

Repeat = Callable[[Program, float], Finding | None]
"""Function that runs a program many times, for a number of seconds or until it fails, and returns the finding."""

_KINDS = (FindingKind.NONLINEARIZABLE, FindingKind.EXCEPTION, FindingKind.INVARIANT)
"""Hangs are not shrunk: each attempt would wait until the patience ends, and leave its threads behind."""

_SMALL = 5
_FIRST_SHARE = 0.4
_TIMES_AS_LONG = 4.0
_LEAST_SECONDS = 0.1


def smaller(finding: Finding, repeat: Repeat, seconds: float) -> Finding:
    """Return the finding of a smaller program, if one fails soon in the same way; otherwise the finding itself.

    Args:
        finding: the finding to shrink.
        repeat: runs candidates.
        seconds: time limit in seconds.
    """
    program = finding.program
    if program is None or program.is_sequential or finding.kind not in _KINDS or len(program) <= _SMALL:
        return finding
    began = time.monotonic()
    best = repeat(program, seconds * _FIRST_SHARE)
    needed = time.monotonic() - began
    if best is None or best.kind is not finding.kind:
        return finding

    def fails(candidate: Program) -> bool:
        nonlocal best
        left = began + seconds - time.monotonic()
        found = repeat(candidate, min(left, max(_LEAST_SECONDS, needed * _TIMES_AS_LONG))) if left > 0 else None
        if found is None or found.kind is not finding.kind or candidate.is_sequential:
            return False
        best = found
        return True

    smaller_program(INDEXER_OBJECTS, program, fails, seconds=seconds - needed)
    return replace(best, phase=finding.phase)
