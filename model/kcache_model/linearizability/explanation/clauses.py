"""Constraints on the order of calls: what the facts of reads demand.

Of the writes to a key, the last one before the read is what the read saw. So, for a version that was returned: every
other write of its key came before the write of it, or after the read. For a key whose object was lacking: every write
that put one there came after the read, or something else was put there in between. What real time satisfies anyway is
left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..frontier.contents import ABSENT, NEVER, Version
from ..frontier.reads import Read
from ..frontier.writes import Write
from .facts import Fact, FactKind
from .writes import Writes, put_by

Event = Read | Write
"""A call that takes effect at one moment."""

Edge = tuple[Event, Event]
"""The first takes effect before the second."""


@dataclass(frozen=True, eq=False)
class Option:
    """One way to satisfy a clause.

    Attributes:
        edges: they all hold.
        clauses: they all hold, too.
        key: for one of several explanations of a fact: the key whose object explains it.
    """

    edges: tuple[Edge, ...]
    clauses: tuple[Clause, ...] = ()
    key: str = ""


@dataclass(frozen=True, eq=False)
class Clause:
    """At least one of the options holds.

    Attributes:
        fact: the observation that demands it.
        key: the key that it is about; empty if it asks for any.
        write: the write that it is about; ``None`` if it asks for any that explains the fact.
        options: the ways to satisfy it; if there are none, nothing explains the fact.
    """

    fact: Fact
    key: str
    write: Write | None
    options: tuple[Option, ...]


def clauses_of(fact: Fact, writes: Writes) -> list[Clause]:
    """What ``fact`` demands. O(writes of the key)."""
    match fact.kind:
        case FactKind.RETURNED:
            return list(_returned(fact, writes))
        case FactKind.LACKED:
            return list(_lacked(fact, writes.of_key(fact.key)))
        case FactKind.HAD_KEY:
            return [Clause(fact, fact.key, None, tuple(_had(fact, fact.key, writes.of_key(fact.key))))]
        case FactKind.HAD_VALUE:
            options = [option for key in writes.keys for option in _had(fact, key, writes.of_key(key))]
            return [Clause(fact, "", None, tuple(options))]


def _returned(fact: Fact, writes: Writes) -> Iterator[Clause]:
    source, read = writes.of_version(fact.version), fact.read
    yield Clause(fact, fact.key, source, (Option(((source, read),)),))
    others = [write for write in writes.of_key(fact.key) if write is not source]
    between = [other for other in others if _precedes(source, other) and _precedes(other, read)]
    # One that certainly came in between says it all, and then there may be thousands.
    yield from _nothing_between(fact, fact.key, source, [_last(between)] if between else others)


def _nothing_between(fact: Fact, key: str, source: Write, others: Iterable[Write]) -> Iterator[Clause]:
    for other in others:
        if not _precedes(other, source) and not _precedes(fact.read, other):
            yield Clause(fact, key, other, (Option(((other, source),)), Option(((fact.read, other),))))


def _lacked(fact: Fact, writes: Sequence[Write]) -> Iterator[Clause]:
    read = fact.read
    removers, shown = _split(fact.key, writes, fact.allows)
    surely_gone = max((write.invoked for write in removers if _precedes(write, read)), default=-NEVER)
    for write in shown:
        if _precedes(read, write) or write.returned < surely_gone:
            continue
        between = [
            Option(((write, remover), (remover, read)))
            for remover in removers
            if not _precedes(remover, write) and not _precedes(read, remover)
        ]
        yield Clause(fact, fact.key, write, (Option(((read, write),)), *between))


def _had(fact: Fact, key: str, writes: Sequence[Write]) -> Iterator[Option]:
    read = fact.read
    sources, removers = _split(key, writes, fact.allows)
    surely_gone = max((write.invoked for write in removers if _precedes(write, read)), default=-NEVER)
    for source in sources:
        if not _precedes(read, source) and source.returned >= surely_gone:
            yield Option(((source, read),), tuple(_nothing_between(fact, key, source, removers)), key)


def last_shown(fact: Fact, writes: Writes) -> tuple[Write, Write] | None:
    """The last write to put there what the read said it found, and one that had replaced it before the read began."""
    keys = [fact.key] if fact.key else writes.keys
    gone = []
    for key in keys:
        shown, removers = _split(key, writes.of_key(key), fact.allows)
        remover = max((w for w in removers if _precedes(w, fact.read)), key=lambda w: w.invoked, default=None)
        if remover is not None:
            gone += [(write, remover) for write in shown if _precedes(write, remover)]
    return max(gone, key=lambda pair: pair[0].invoked, default=None)


def under_way(fact: Fact, writes: Writes) -> list[Write]:
    """The writes that were open while the read was, and that put an object under its key."""
    read = fact.read
    return [
        write
        for write in writes.of_key(fact.key)
        if put_by(write, fact.key) is not ABSENT and not _precedes(write, read) and not _precedes(read, write)
    ]


def _split(key: str, writes: Sequence[Write], allows: Callable[[Version], bool]) -> tuple[list[Write], list[Write]]:
    """Those that put something under ``key`` which the read may have found, and the others."""
    allowed: list[Write] = []
    others: list[Write] = []
    for write in writes:
        (allowed if allows(put_by(write, key)) else others).append(write)
    return allowed, others


def _last(writes: Sequence[Write]) -> Write:
    return max(writes, key=lambda write: write.invoked)


def _precedes(first: Event, second: Event) -> bool:
    return first.returned < second.invoked
