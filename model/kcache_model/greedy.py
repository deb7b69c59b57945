"""Greedy search for a smaller failing program, for programs of any type."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

P = TypeVar("P")


def smallest(
    program: P,
    simpler: Callable[[P], Iterable[P]],
    fails: Callable[[P], bool],
    *,
    seconds: float,
    attempts: int,
) -> P:
    """Return a simpler program that still fails; each step goes to the first simpler candidate that fails.

    Args:
        program: the failing program.
        simpler: returns the next simpler programs, those that omit most first.
        fails: whether a program fails in the same way.
        seconds: the limit in seconds of wall-clock time.
        attempts: the maximum number of candidates.
    """
    deadline = time.monotonic() + seconds
    progress = True
    while progress:
        progress = False
        for candidate in simpler(program):
            if attempts <= 0 or time.monotonic() > deadline:
                return program
            attempts -= 1
            if fails(candidate):
                program, progress = candidate, True
                break
    return program
