"""The fewest facts that no order explains."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from typing import Final

from .clauses import Clause, clauses_of
from .facts import Fact
from .refutation import GaveUp, Refutation, refute
from .writes import Writes

_MOST_PAIRED: Final = 30
"""Of so many facts, each pair is tried."""


def refuted_by_fewest(facts: Sequence[Fact], writes: Writes, seconds: float) -> tuple[list[Fact], Refutation] | None:
    """A smallest set of facts that cannot be explained, and its refutation; ``None`` if none was found in time.

    Single facts are tried first, then pairs, and then facts are left out of all one by one.

    Args:
        facts: what reads said.
        writes: all writes.
        seconds: of wall-clock time.
    """
    deadline = time.monotonic() + seconds
    clauses: dict[Fact, list[Clause]] = {}
    for fact in facts:
        found = clauses_of(fact, writes)
        if found:
            clauses[fact] = found
        if time.monotonic() > deadline:
            break
    for chosen in _small_sets(list(clauses)):
        if time.monotonic() > deadline:
            break
        refutation = _refuted(chosen, clauses, deadline)
        if refutation is not None:
            return list(chosen), refutation
    return _after_leaving_out(list(clauses), clauses, deadline)


def _small_sets(facts: list[Fact]) -> Iterator[tuple[Fact, ...]]:
    yield from itertools.combinations(facts, 1)
    if len(facts) <= _MOST_PAIRED:
        yield from itertools.combinations(facts, 2)


def _after_leaving_out(
    facts: list[Fact], clauses: dict[Fact, list[Clause]], deadline: float
) -> tuple[list[Fact], Refutation] | None:
    refutation = _refuted(facts, clauses, deadline)
    if refutation is None:
        return None
    length = len(facts) // 2
    start = 0
    while length and time.monotonic() < deadline:
        rest = [*facts[:start], *facts[start + length :]]
        found = _refuted(rest, clauses, deadline)
        if found is not None:
            facts, refutation = rest, found
        else:
            start += length
        if start >= len(facts):
            start, length = 0, length // 2
    return facts, refutation


def _refuted(facts: Sequence[Fact], clauses: dict[Fact, list[Clause]], deadline: float) -> Refutation | None:
    try:
        return refute([clause for fact in facts for clause in clauses[fact]], deadline)
    except GaveUp:
        return None
