"""Greedy search for a smaller failing program, for programs of any type.

After delta debugging (A. Zeller, R. Hildebrandt: Simplifying and Isolating Failure-Inducing Input, 2002): simpler
candidates are tried one after another, and the search goes on from each candidate that still fails. A *pass* proposes
the candidates. It is a generator that receives, for each candidate, whether the candidate was accepted, so it can go on
where it is; to start again after each success takes a number of attempts that is quadratic in the size of the program.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TypeAlias, TypeVar

P = TypeVar("P")

Pass: TypeAlias = "Callable[[P], Generator[P, bool, object]]"
"""A function that takes the smallest program so far, and yields candidates."""


def shrink(program: P, passes: Sequence[Pass[P]], fails: Callable[[P], bool], *, seconds: float, attempts: int) -> P:
    """Return a simpler program that still fails; the passes run in turn until none of them makes progress.

    Args:
        program: the failing program.
        passes: propose simpler programs, those that omit most first.
        fails: whether a program fails in the same way.
        seconds: the limit in seconds of wall-clock time.
        attempts: the maximum number of candidates.
    """
    deadline = time.monotonic() + seconds
    progress = True
    while progress:
        progress = False
        for proposals in (propose(program) for propose in passes):
            candidate = next(proposals, None)
            while candidate is not None:
                if attempts <= 0 or time.monotonic() > deadline:
                    return program
                attempts -= 1
                is_accepted = fails(candidate)
                if is_accepted:
                    program, progress = candidate, True
                try:
                    candidate = proposals.send(is_accepted)
                except StopIteration:
                    candidate = None
    return program


def from_the_start(simpler: Callable[[P], Iterable[P]]) -> Callable[[P], Generator[P, bool, P]]:
    """Return a pass that starts again after each success, and that returns the last accepted program.

    Args:
        simpler: returns the next simpler programs, those that omit most first.
    """

    def propose(program: P) -> Generator[P, bool, P]:
        progress = True
        while progress:
            progress = False
            for candidate in simpler(program):
                if (yield candidate):
                    program, progress = candidate, True
                    break
        return program

    return propose


def smallest(
    program: P,
    simpler: Callable[[P], Iterable[P]],
    fails: Callable[[P], bool],
    *,
    seconds: float,
    attempts: int,
) -> P:
    """Return a simpler program that still fails; each step goes to the first simpler candidate that fails."""
    return shrink(program, [from_the_start(simpler)], fails, seconds=seconds, attempts=attempts)
