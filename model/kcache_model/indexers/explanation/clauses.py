"""Constraints on the order of calls: what the facts of reads demand.

Of the writes to a key, the last one before the read is what the read saw. So, for a version that was returned: every
other write of its key came before the write of it, or after the read. For a key whose object was lacking: every write
that put one there came after the read, or something else was put there in between. What real time satisfies anyway is
left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..just_in_time.contents import ABSENT, NEVER, Event, Version
from ..just_in_time.writes import Write
from .facts import Fact, FactKind, Writes, put_by

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
    key: str | None = None


@dataclass(frozen=True, eq=False)
class Clause:
    """At least one of the options holds.

    Attributes:
        fact: the observation that demands it.
        key: the key that it is about; ``None`` if it asks for any.
        write: the write that it is about; ``None`` if it asks for any that explains the fact.
        options: the ways to satisfy it; if there are none, nothing explains the fact.
        peers: if it belongs to one of several explanations of the fact, all of these.
    """

    fact: Fact
    key: str | None
    write: Write | None
    options: tuple[Option, ...]
    peers: Sequence[Option] = ()

    @property
    def is_source(self) -> bool:
        """Whether it says that what was read had been written."""
        return self.fact.kind is FactKind.RETURNED and len(self.options) == 1


def clauses_of(fact: Fact, writes: Writes) -> list[Clause]:
    """What ``fact`` demands. O(writes of the key)."""
    match fact.kind:
        case FactKind.RETURNED:
            return list(_returned(fact, writes))
        case FactKind.LACKED:
            return list(_lacked(fact, _key_of(fact), writes.of_key(_key_of(fact))))
        case FactKind.HAD_KEY:
            return [_had(fact, [_key_of(fact)], writes)]
        case FactKind.HAD_VALUE:
            return [_had(fact, writes.keys, writes)]


def _key_of(fact: Fact) -> str:
    assert fact.key is not None
    return fact.key


def _returned(fact: Fact, writes: Writes) -> Iterator[Clause]:
    source, read, key = writes.of_version(fact.version), fact.read, _key_of(fact)
    yield Clause(fact, key, source, (Option(((source, read),)),))
    others = [write for write in writes.of_key(key) if write is not source]
    between = [other for other in others if _precedes(source, other) and _precedes(other, read)]
    # One that certainly came in between says it all, and then there may be thousands.
    yield from _nothing_between(fact, key, source, [_last(between)] if between else others)


def _nothing_between(
    fact: Fact, key: str, source: Write, others: Iterable[Write], peers: Sequence[Option] = ()
) -> Iterator[Clause]:
    for other in others:
        if not _precedes(other, source) and not _precedes(fact.read, other):
            options = Option(((other, source),)), Option(((fact.read, other),))
            yield Clause(fact, key, other, options, peers)


def _lacked(fact: Fact, key: str, writes: Sequence[Write]) -> Iterator[Clause]:
    read = fact.read
    removers, shown = _split(key, writes, fact.allows)
    removers = [write for write in removers if not _precedes(read, write)]
    surely_gone = max((write.invoked for write in removers if _precedes(write, read)), default=-NEVER)
    shown = [write for write in shown if not _precedes(read, write) and write.returned >= surely_gone]
    certain = [
        write for write in shown if _precedes(write, read) and all(_precedes(remover, write) for remover in removers)
    ]
    for write in [_last(certain)] if certain else shown:
        between = [Option(((write, remover), (remover, read))) for remover in removers if not _precedes(remover, write)]
        yield Clause(fact, key, write, (Option(((read, write),)), *between))


def _had(fact: Fact, keys: Iterable[str], writes: Writes) -> Clause:
    """Some write explains the fact. Of two that come before the read, the later one explains what the other does."""
    read = fact.read
    options: list[Option] = []
    for key in keys:
        sources, removers = _split(key, writes.of_key(key), fact.allows)
        surely_gone = max((write.invoked for write in removers if _precedes(write, read)), default=-NEVER)
        sources = [write for write in sources if not _precedes(read, write) and write.returned >= surely_gone]
        latest = max((write.invoked for write in sources if _precedes(write, read)), default=-NEVER)
        for source in sources:
            if source.returned >= latest:
                clauses = tuple(_nothing_between(fact, key, source, removers, options))
                options.append(Option(((source, read),), clauses, key))
    return Clause(fact, fact.key, None, tuple(options))


def last_shown(fact: Fact, writes: Writes) -> tuple[Write, Write] | None:
    """The last write to put there what the read said it found, and one that had replaced it before the read began."""
    keys = writes.keys if fact.key is None else [fact.key]
    gone = []
    for key in keys:
        shown, removers = _split(key, writes.of_key(key), fact.allows)
        remover = max((w for w in removers if _precedes(w, fact.read)), key=lambda w: w.invoked, default=None)
        if remover is not None:
            gone += [(write, remover) for write in shown if _precedes(write, remover)]
    return max(gone, key=lambda pair: pair[0].invoked, default=None)


def under_way(fact: Fact, writes: Writes) -> list[Write]:
    """The writes that were open while the read was, and that put an object under its key."""
    read, key = fact.read, _key_of(fact)
    return [
        write
        for write in writes.of_key(key)
        if put_by(write, key) is not ABSENT and not _precedes(write, read) and not _precedes(read, write)
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
