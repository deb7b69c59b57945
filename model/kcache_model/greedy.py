"""The search that makes failing programs smaller, whatever they are programs of."""

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
    """A program that fails still and is no larger; each step is the first simpler program that fails.

    Args:
        program: fails.
        simpler: the next simpler programs, those that leave out most first.
        fails: whether a program fails in the same way.
        seconds: of wall-clock time.
        attempts: the most candidates.
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
