"""Constraints on the order of calls that follow from the facts of reads.

A read sees the last write to a key before the read. So, if a read returned a version, every other write of the key came
before the write of the version, or after the read. If a read lacked the object of a key, every write that put such an
object there came after the read, or another write replaced the object in between. Constraints that real time satisfies
anyway are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..just_in_time.contents import ABSENT, NEVER, Event, Version
from ..just_in_time.writes import Write
from .facts import Fact, FactKind, Writes, put_by

Edge = tuple[Event, Event]
"""Two calls; the first takes effect before the second."""


@dataclass(frozen=True, eq=False)
class Option:
    """One way to satisfy a clause: all edges and all clauses hold.

    Attributes:
        edges: orders of two calls.
        clauses: further constraints.
        key: if the option is one of several explanations of a fact, the key whose object explains it.
    """

    edges: tuple[Edge, ...]
    clauses: tuple[Clause, ...] = ()
    key: str | None = None


@dataclass(frozen=True, eq=False)
class Clause:
    """A constraint: at least one of the options holds.

    Attributes:
        fact: the observation that implies the constraint.
        key: the key of the constraint; ``None`` if any key may explain the fact.
        write: the write of the constraint; ``None`` if any write may explain the fact.
        options: the ways to satisfy it; if there are none, nothing explains the fact.
        peers: if it belongs to one of several explanations of the fact, all these explanations.
    """

    fact: Fact
    key: str | None
    write: Write | None
    options: tuple[Option, ...]
    peers: Sequence[Option] = ()

    @property
    def is_source(self) -> bool:
        """Whether the clause says that the returned version was written before the read."""
        return self.fact.kind is FactKind.RETURNED and len(self.options) == 1


def clauses_of(fact: Fact, writes: Writes) -> list[Clause]:
    """Return the clauses that follow from ``fact``.

    At most O(writes of the key) clauses for a returned version, and O(pairs of writes of the key) options otherwise.
    """
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
    # If a write certainly came in between, its clause alone is a contradiction; there may be thousands of such writes.
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
    removers, writers = _split(key, writes, fact.allows)
    removers = [write for write in removers if not _precedes(read, write)]
    surely_gone = max((write.invoked for write in removers if _precedes(write, read)), default=-NEVER)
    writers = [write for write in writers if not _precedes(read, write) and write.returned >= surely_gone]
    certain = [
        write for write in writers if _precedes(write, read) and all(_precedes(remover, write) for remover in removers)
    ]
    for write in [_last(certain)] if certain else writers:
        between = [Option(((write, remover), (remover, read))) for remover in removers if not _precedes(remover, write)]
        yield Clause(fact, key, write, (Option(((read, write),)), *between))


def _had(fact: Fact, keys: Iterable[str], writes: Writes) -> Clause:
    """Build the clause that some write explains the fact.

    If two such writes of a key ran one after the other before the read, only the later is an option: it explains
    everything that the earlier one explains.
    """
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


def last_explaining_write(fact: Fact, writes: Writes) -> tuple[Write, Write] | None:
    """Return the last write that explained the fact, and a write that had replaced it before the read began.

    ``None`` if there is no such pair.
    """
    keys = writes.keys if fact.key is None else [fact.key]
    gone = []
    for key in keys:
        writers, removers = _split(key, writes.of_key(key), fact.allows)
        remover = max((w for w in removers if _precedes(w, fact.read)), key=lambda w: w.invoked, default=None)
        if remover is not None:
            gone += [(write, remover) for write in writers if _precedes(write, remover)]
    return max(gone, key=lambda pair: pair[0].invoked, default=None)


def under_way(fact: Fact, writes: Writes) -> list[Write]:
    """Return the writes that were concurrent with the read and put an object under the key of the fact."""
    read, key = fact.read, _key_of(fact)
    return [
        write
        for write in writes.of_key(key)
        if put_by(write, key) is not ABSENT and not _precedes(write, read) and not _precedes(read, write)
    ]


def _split(key: str, writes: Sequence[Write], allows: Callable[[Version], bool]) -> tuple[list[Write], list[Write]]:
    """Split the writes: those that put a version under ``key`` that ``allows`` accepts, and the others."""
    allowed: list[Write] = []
    others: list[Write] = []
    for write in writes:
        (allowed if allows(put_by(write, key)) else others).append(write)
    return allowed, others


def _last(writes: Sequence[Write]) -> Write:
    return max(writes, key=lambda write: write.invoked)


def _precedes(first: Event, second: Event) -> bool:
    return first.returned < second.invoked
