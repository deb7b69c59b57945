"""Refutation of as few clauses as possible: a proof that no order of the calls satisfies all of them.

A small solver for ordering constraints: unit propagation over a partial order, and case distinctions if more than one
option remains. After M. Davis, G. Logemann, D. Loveland (1962); over partial orders, as in J. Huang: Stateless model
checking concurrent programs with maximal causality reduction (2015).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ..just_in_time.contents import Event
from .clauses import Clause, Option, clauses_of
from .facts import Fact, Writes
from .precedence import Precedence


@dataclass(frozen=True, eq=False)
class Refutation:
    """A clause that cannot be satisfied: each of its options is forbidden or has a refutation.

    Attributes:
        order: the precedence that was known at this point.
        clause: the clause.
        cases: the options that are not forbidden outright, each with the refutation of it.
    """

    order: Precedence
    clause: Clause
    cases: tuple[tuple[Option, Refutation], ...] = ()

    def leaves(self) -> Iterator[Refutation]:
        """The refutations without further cases."""
        if not self.cases:
            yield self
        for _, case in self.cases:
            yield from case.leaves()


class GaveUp(Exception):
    """The search for a refutation exceeded its limit of cases, calls or time."""


_MOST_EVENTS: Final = 200
_MOST_SPLITS: Final = 60
_MOST_PAIRED: Final = 30
"""Each pair of facts is tried if there are at most this many facts."""


def refute(clauses: Sequence[Clause], deadline: float = float("inf")) -> Refutation | None:
    """Return a refutation; ``None`` if some order satisfies all clauses.

    Args:
        clauses: the constraints.
        deadline: the time of the monotonic clock at which to give up.

    Raises:
        GaveUp: there are too many calls or cases, or the deadline has passed.
    """
    events = list(dict.fromkeys(_events(clauses)))
    if len(events) > _MOST_EVENTS:
        raise GaveUp
    return _Solver(deadline).refute(Precedence(events), sorted(clauses, key=_in_order_of_telling))


def _in_order_of_telling(clause: Clause) -> tuple[float, bool, int]:
    """Sort key of clauses: by the read's response, so that the last read contradicts; clauses of sources come first."""
    return clause.fact.read.returned, not clause.is_source, len(clause.options)


class _Solver:
    def __init__(self, deadline: float) -> None:
        self._splits = 0
        self._deadline = deadline

    def refute(self, order: Precedence, clauses: list[Clause]) -> Refutation | None:
        """Refute ``clauses`` under ``order``; ``None`` if they can be satisfied. ``order`` is changed."""
        while True:
            if time.monotonic() > self._deadline:
                raise GaveUp
            undecided: list[Clause] = []
            progress = False
            for clause in clauses:
                possible = [option for option in clause.options if not any(map(order.forbids, option.edges))]
                if not possible:
                    return Refutation(order, clause)
                if any(not option.clauses and all(map(order.has, option.edges)) for option in possible):
                    continue
                if len(possible) > 1:
                    undecided.append(clause)
                    continue
                progress = True
                if not _take(order, possible[0], clause):
                    return Refutation(order, clause)
                undecided += possible[0].clauses
            clauses = undecided
            if not progress:
                break
        return self._split(order, clauses) if clauses else None

    def _split(self, order: Precedence, clauses: list[Clause]) -> Refutation | None:
        self._splits += 1
        if self._splits > _MOST_SPLITS:
            raise GaveUp
        clause = min(clauses, key=lambda clause: len(clause.options))
        rest = [other for other in clauses if other is not clause]
        cases = []
        for option in clause.options:
            supposed = order.copy()
            if not _take(supposed, option, clause):
                continue
            refutation = self.refute(supposed, [*rest, *option.clauses])
            if refutation is None:
                return None
            cases.append((option, refutation))
        return Refutation(order, clause, tuple(cases))


def _take(order: Precedence, option: Option, clause: Clause) -> bool:
    """Add the edges of ``option`` to the order; return false at the first edge that is forbidden."""
    for edge in option.edges:
        if order.forbids(edge):
            return False
        order.add(edge, clause)
    return True


def _events(clauses: Iterable[Clause]) -> Iterator[Event]:
    for clause in clauses:
        yield clause.fact.read
        for option in clause.options:
            for edge in option.edges:
                yield from edge
            yield from _events(option.clauses)


def refuted_by_fewest(facts: Sequence[Fact], writes: Writes, seconds: float) -> tuple[list[Fact], Refutation] | None:
    """Return a small set of facts that no order explains, and its refutation; ``None`` if none was found in time.

    Single facts are tried first, then pairs. Then all facts are tried, and chunks of facts are left out: halves first,
    finally single facts.

    Args:
        facts: the statements of reads.
        writes: all writes.
        seconds: limit of wall-clock time.
    """
    deadline = time.monotonic() + seconds
    clauses: dict[Fact, list[Clause]] = {}
    for fact in facts:
        alternatives = clauses_of(fact, writes)
        if alternatives:
            clauses[fact] = alternatives
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
        smaller = _refuted(rest, clauses, deadline)
        if smaller is not None:
            facts, refutation = rest, smaller
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
