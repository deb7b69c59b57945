"""Makes a program smaller for as long as what is wrong with it stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from .generator import Design, Work

Signature = tuple[frozenset[str], frozenset[str]]
"""What the statements of both threads were made of."""


def smallest(design: Design, pair: tuple[int, int], is_wrong: Callable[[Design], bool]) -> Design:
    """A design of two threads, of which nothing can be left out; ``is_wrong`` is asked about the pair (0, 1)."""
    best = replace(design, works=tuple(design.works[number] for number in pair))
    if not is_wrong(best):
        return best
    progress = True
    while progress:
        progress = False
        for candidate in _smaller(best):
            if is_wrong(candidate):
                best, progress = candidate, True
                break
    return best


def signature(design: Design, pair: tuple[int, int] = (0, 1)) -> Signature:
    """What tells causes apart."""
    one, two = (frozenset(step.template for step in design.works[number].steps) for number in pair)
    return one, two


def contains(found: Signature, known: Signature) -> bool:
    """Whether a program has all that a smaller one has."""
    (one, two), (first, second) = found, known
    return (first <= one and second <= two) or (first <= two and second <= one)


def _smaller(design: Design) -> Iterator[Design]:
    one, two = design.works
    if design.is_wide:
        yield replace(design, is_wide=False)
    yield from (replace(design, works=(work, two)) for work in _smaller_works(one))
    yield from (replace(design, works=(one, work)) for work in _smaller_works(two))
    for part in design.parts:
        if len(design.parts) > 1 and not any(step.part == part.name for work in design.works for step in work.steps):
            yield replace(design, parts=tuple(other for other in design.parts if other is not part))


def _smaller_works(work: Work) -> Iterator[Work]:
    for position in range(len(work.steps)):
        yield replace(work, steps=(*work.steps[:position], *work.steps[position + 1 :]), pauses=frozenset())
    if work.pauses:
        yield replace(work, pauses=frozenset())
    if work.wrapper != Work(()).wrapper:
        yield replace(work, wrapper=Work(()).wrapper)
