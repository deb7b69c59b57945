"""Random programs for the explorer: likely to fail, and so small that all their interleavings can be run.

A program has a *focus*, which is one key and one value that most of its calls use, and a *theme*:

* watch: one thread writes; the others read, and sometimes write as well.
* writers: every thread writes; in some threads the last call is a read.
* apart: as writers, but each thread writes its own key; the threads share the index values.
* both: every thread alternates writes and reads.
* again: one thread repeats one read as often as the shape allows while the others write.
* own: all threads perform the same read; every second thread writes first.
* stale: one thread writes; the others repeat a read from before the threads, after another read.
* late: one thread adds indices; the others write, look up objects in these indices or read the set of indices.
* version: the resource version is written and read.

A program uses only one or two kinds of writes and one or two kinds of reads: a program that mixes all kinds seldom
performs the same operation twice at once. If no two calls of different threads conflict, or if no call changes
anything, another program is drawn, up to ``_ATTEMPTS`` times.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item, Semantics
from kcache_model.indexers.operations import Operation, OperationName, WriteKind
from kcache_model.indexers.program import Program
from kcache_model.indexers.renaming import with_short_names
from kcache_model.indexers.restrictions import restricted_program
from kcache_model.indexers.target import INDEXES, Target
from kcache_model.indexers.vocabulary import (
    INDEX,
    LATE_INDEXES,
    LATE_INDICES,
    RESOURCE_VERSION,
    ArgumentSource,
    Templates,
    is_offered,
    mixed,
    offered,
    reads,
    writes,
)

from .footprints import some_calls_meet

_KEYS = "abcdefgh"
_ATTEMPTS = 50
_OTHER_CHANGES = (OperationName.ADD_INDEXERS, OperationName.BOOKMARK)
"""Calls that change the state although they store no object."""


_Thread: TypeAlias = tuple[Operation, ...]


@dataclass(frozen=True)
class ExplorerShape:
    """Size of the programs.

    Attributes:
        threads: fewest and most threads; at least three of four programs have the fewest.
        operations: fewest and most operations of one thread.
        prefix: most operations before the threads start.
        keys: most keys, 1 to 8.
        values: most values of an index.
    """

    threads: tuple[int, int] = (2, 3)
    operations: tuple[int, int] = (1, 2)
    prefix: int = 3
    keys: int = 2
    values: int = 2


def explorer_program(seed: int, target: Target, semantics: Semantics, shape: ExplorerShape | None = None) -> Program:
    """Return the program of a seed, with short names, and without features that the target does not support."""
    rng = random.Random(seed)
    program, shape = Program(), shape or ExplorerShape()
    if target.may_evict:  # a small cache holds two objects, so that the third key causes an eviction
        shape = replace(shape, keys=max(shape.keys, 3))
    for _ in range(_ATTEMPTS):
        program = _Author(rng, target, semantics, shape).program()
        changes = any(operation.written or operation.name in _OTHER_CHANGES for operation in program.operations())
        if changes and some_calls_meet(program):
            break
    return restricted_program(with_short_names(program), target)


class _Author(ArgumentSource):
    """Author of one random program; it numbers the stamps and the versions.

    Attributes:
        rng: source of randomness.
        keys: the keys of the program; the first one is the focus.
        own_key: if set, the only key that :meth:`key` returns.
        shared: a read that several threads perform.
        late: whether objects have values under the late index.
        most_operations: most operations of one thread.
    """

    def __init__(self, rng: random.Random, target: Target, semantics: Semantics, shape: ExplorerShape) -> None:
        self.rng = rng
        self._target = target
        self._semantics = semantics
        self._shape = shape
        self._indexes = () if INDEXES in target.unsupported else (INDEX,)
        self.keys = _KEYS[: rng.choice((1, *[shape.keys] * 5))]
        self._values = [f"n{number + 1}" for number in range(rng.choice((1, *[shape.values] * 5)))]
        self._stamps = 0
        self._versions = 0
        self.own_key: str | None = None
        self.shared: Operation | None = None
        self.late = False
        self.most_operations = shape.operations[1]

    def program(self) -> Program:
        theme = self._theme()
        self.late = theme.needs is OperationName.ADD_INDEXERS
        writes, reads = self._kinds(theme.writes), self._kinds(theme.reads)
        prefix = self._prefix()
        looks: _Thread = ()
        if prefix and reads and self.rng.random() < 0.25:
            looks += (self._pick(reads),)  # a target that caches results then has a cached result
        fewest, most_threads = self._shape.threads
        count = fewest if self.rng.random() < 0.75 else self.rng.randint(fewest, most_threads)
        threads = tuple(theme.thread(self, number, writes or reads, reads or writes) for number in range(count))
        if theme.warms_up and self.shared is not None:
            looks += (self.shared,)
        most = self._shape.prefix
        prefix = (*prefix[: max(0, most - len(looks))], *looks)[:most]
        return Program(self._indexes, prefix, threads, self._semantics)

    def key(self) -> str:
        """Return the own key of the thread if there is one; otherwise often the focus, or any key."""
        if self.own_key is not None:
            return self.own_key
        return self.keys[0] if self.rng.random() < 0.45 else self.rng.choice(self.keys)

    def value(self) -> str:
        """Return the focus, or any value. The focus is not more frequent, so that many writes change the value."""
        return self._values[0] if self.rng.random() < 0.2 else self.rng.choice(self._values)

    def item(self, key: str | None = None, value: str | None = None) -> Item:
        """Return a new version of an object; if ``value`` is not set, one of ten has all values or no value."""
        values: tuple[str, ...] = (value or self.value(),)
        if value is None and self.rng.random() < 0.1:
            values = self.rng.choice(((), tuple(self._values)))
        indexes = (*self._indexes, LATE_INDEXES[0]) if self.late else self._indexes
        return Item(key or self.key(), self._stamp(), dict.fromkeys(indexes, values))

    def bare(self) -> Item:
        """Return an object for a call that uses only its key."""
        return Item(self.key(), self._stamp())

    def items(self) -> tuple[Item, ...]:
        """Return up to two objects for a ``replace``; most often one."""
        return tuple(self.item() for _ in range(self.rng.choice((0, 1, 1, 2))))

    def entries(self) -> tuple[tuple[WriteKind, Item], ...]:
        """Return two writes for a ``transaction``; of different keys if possible, so that reads can see only one."""
        first = self.key()
        others = [key for key in self.keys if key != first] or [first]
        keys = self.rng.sample((first, self.rng.choice(others)), 2)
        return tuple((self.rng.choice((*WriteKind, WriteKind.ADD)), self.item(key)) for key in keys)

    def query(self) -> Item:
        """Return an object for ``index``; often with all values, so that a target may look them up one by one."""
        if self.rng.random() < 0.6:
            return self.item(value=self.value())
        # In random order: a lookup value by value misses an object that moves from a later value to an earlier one.
        values = tuple(self.rng.sample(self._values, len(self._values)))
        return replace(self.item(), values=dict.fromkeys(self._indexes, values))

    def version(self) -> str:
        """Return a new resource version."""
        self._versions += 1
        return str(self._versions)

    def any_reads(self) -> Templates:
        """Return one or two kinds of reads, independent of the kinds of the program."""
        return self._kinds(_READS)

    def read_of(self, kinds: Templates) -> Operation | None:
        """Return an operation of one of these kinds; ``None`` if it is a write, or if there are no kinds."""
        read = self._pick(kinds) if kinds else None
        return None if read is None or read.is_write else read

    def filled(self, thread: _Thread) -> _Thread:
        """Return a thread of permitted length: repeats the last operation if it is too short, cuts off its start."""
        most = self.most_operations
        return (*thread, *thread[-1:] * (self._shape.operations[0] - len(thread)))[-most:]

    def index(self) -> str:
        """Return the name of the index that exists from the start."""
        return INDEX

    def late_index(self) -> str:
        """Return the name of the late index under which objects have values."""
        return LATE_INDEXES[0]

    def late_names(self) -> Sequence[str]:
        """Return the names of indices to add: mostly two, so that reads can see only one of them."""
        return LATE_INDEXES if self.rng.random() < 0.7 else self.rng.sample(LATE_INDEXES, 1)

    def thread(self, *kinds: Templates) -> _Thread:
        """Return a random number of operations of permitted size; their kinds alternate between ``kinds``."""
        length = self.rng.randint(*self._shape.operations)
        return tuple(self._pick(kinds[number % len(kinds)]) for number in range(length))

    def _stamp(self) -> str:
        self._stamps += 1
        return f"v{self._stamps}"

    def _theme(self) -> _Theme:
        possible = [theme for theme in _THEMES if not theme.needs or self._offers(theme.needs)]
        (theme,) = self.rng.choices(possible, weights=[theme.weight for theme in possible])
        return theme

    def _prefix(self) -> _Thread:
        """Return the writes before the threads: mostly the focus, then others.

        If the program adds indices, the prefix is often empty: with classic semantics, ``add_indexers`` fails if the
        store holds an object.
        """
        most = self._shape.prefix
        early = 0.85 if self._semantics is Semantics.CLASSIC else 0.5
        if not most or self.rng.random() < (early if self.late else 0.2):
            return ()
        put = next(filter(self._offers, (OperationName.ADD, OperationName.UPDATE)), None)
        if put is None:
            return ()
        focus = self.item(self.keys[0], self._values[0])
        # Other keys first: if a key is written twice here, no read can see the first of the two objects.
        more = [self.item(key) for key in (*self.keys[1:], *self.keys)]
        items = (focus, *more[: self.rng.randint(0, most - 1)])
        return tuple(Operation(put, item=item) for item in items)

    def _kinds(self, kinds: Templates) -> Templates:
        """Return one or two of the supported kinds, see Groce et al., Swarm Testing (2012)."""
        found = offered(kinds, self._target)
        return tuple(self.rng.choices(found, [kind.weight for kind in found], k=2)) if found else ()

    def _offers(self, name: OperationName) -> bool:
        return is_offered(name, self._target)

    def _pick(self, kinds: Templates) -> Operation:
        return self.rng.choice(kinds).make(self)


_Name = OperationName

_WRITES, _READS = writes(), reads()
_LATE_WRITES = mixed({_Name.ADD_INDEXERS: 4, _Name.ADD: 2, _Name.REPLACE: 1, _Name.DELETE: 1})
_VERSION_READS = mixed({_Name.LAST_SYNC_RESOURCE_VERSION: 3, _Name.LIST: 1, _Name.RESYNC: 1})


def _watch(author: _Author, number: int, writes: Templates, reads: Templates) -> _Thread:
    if number == 0:
        return author.thread(writes)
    return author.thread(reads) if author.rng.random() < 0.8 else author.thread(writes, reads)


def _writers(author: _Author, _: int, writes: Templates, reads: Templates) -> _Thread:
    thread = author.thread(writes)
    if len(thread) > 1 and author.rng.random() < 0.4:
        return (*thread[:-1], *author.thread(reads)[:1])
    return thread


def _apart(author: _Author, number: int, writes: Templates, reads: Templates) -> _Thread:
    author.own_key = author.keys[number % len(author.keys)]
    return _writers(author, number, writes, reads)


def _both(author: _Author, _: int, writes: Templates, reads: Templates) -> _Thread:
    return author.thread(writes, reads) if author.rng.random() < 0.6 else author.thread(reads, writes)


def _again(author: _Author, number: int, writes: Templates, reads: Templates) -> _Thread:
    again = author.rng.choice(reads).make(author)
    return author.thread(writes) if number or again.is_write else (again,) * author.most_operations


def _own(author: _Author, number: int, writes: Templates, reads: Templates) -> _Thread:
    """All threads perform the same read; odd threads write first.

    A target may share one result between concurrent reads. The result must not be older than the write of a reader.
    """
    if number == 0:
        author.shared = author.read_of(reads)
    if author.shared is None:
        return author.thread(writes)
    write = author.thread(writes)[:1] if number % 2 else ()
    return author.filled((*write, author.shared))


def _stale(author: _Author, number: int, writes: Templates, reads: Templates) -> _Thread:
    """Thread 0 writes. Each other thread performs any read, which may see new state, and then its own shared read.

    The last of these shared reads also runs before the threads. A target that cached its result must not return the
    old state after the new state.
    """
    if number == 0:
        return author.thread(writes)
    author.shared = author.read_of(reads)
    if author.shared is None:
        return author.thread(writes)
    return author.filled((author.read_of(author.any_reads()) or author.shared, author.shared))


def _late(author: _Author, number: int, writes: Templates, reads: Templates) -> _Thread:
    if number == 0:
        return (op.add_indexers(*author.late_names()), *author.thread(writes, reads)[1:])
    return author.thread(reads, writes) if author.rng.random() < 0.5 else author.thread(writes, reads)


@dataclass(frozen=True)
class _Theme:
    """Theme of a program.

    Attributes:
        weight: relative frequency.
        thread: builds a thread from the author, its number, and the kinds of writes and reads.
        writes: the kinds of writes to choose from.
        reads: the kinds of reads to choose from.
        needs: an operation that the target has to support; ``None`` if there is none.
        warms_up: whether the shared read is performed before the threads, too.
    """

    weight: int
    thread: Callable[[_Author, int, Templates, Templates], _Thread]
    writes: Templates = _WRITES
    reads: Templates = _READS
    needs: OperationName | None = None
    warms_up: bool = False


_THEMES = (
    _Theme(32, _watch),
    _Theme(18, _writers),
    _Theme(14, _apart),
    _Theme(14, _both),
    _Theme(12, _again),
    _Theme(8, _own),
    _Theme(8, _stale, warms_up=True),
    _Theme(11, _late, _LATE_WRITES, reads(LATE_INDICES), OperationName.ADD_INDEXERS),
    _Theme(3, _watch, writes(RESOURCE_VERSION), _VERSION_READS, OperationName.LAST_SYNC_RESOURCE_VERSION),
)
