"""Minimiser of failing programs of informers: removes threads and steps, then transformer, resync and handlers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ..greedy import smallest
from .program import InformerProgram, Step


def minimise(
    program: InformerProgram, fails: Callable[[InformerProgram], bool], *, seconds: float, attempts: int = 500
) -> InformerProgram:
    """Minimise a failing program: take the first simpler program that fails, and repeat until no simpler one fails."""
    return smallest(program, _simpler, fails, seconds=seconds, attempts=attempts)


def _simpler(program: InformerProgram) -> Iterator[InformerProgram]:
    first, *others = program.threads
    for number, thread in enumerate(others):
        remaining = (first, *others[:number], *others[number + 1 :])
        yield replace(program, threads=remaining)
        yield replace(program, threads=((*first, *thread), *remaining[1:]))
    for size in (8, 4, 2, 1):
        for shorter in _without(program.before, size):
            yield replace(program, before=shorter)
        for number, thread in enumerate(program.threads):
            for shorter in _without(thread, size):
                yield replace(program, threads=(*program.threads[:number], shorter, *program.threads[number + 1 :]))
    if program.transforms:
        yield replace(program, transforms=False)
    if program.resync_seconds:
        yield replace(program, resync_seconds=0)
    if program.handlers > 1:
        yield replace(program, handlers=program.handlers - 1)


def _without(steps: tuple[Step, ...], size: int) -> Iterator[tuple[Step, ...]]:
    """Yield the steps without ``size`` consecutive steps, removing the last ones first."""
    for start in range(len(steps) - size, -1, -1):
        yield steps[:start] + steps[start + size :]
