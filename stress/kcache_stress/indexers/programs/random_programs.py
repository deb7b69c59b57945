"""Random programs for the explorer: small, so that all their interleavings can be run, and made to go wrong.

A program has a *focus*, one key and one value that most of its calls are about, and a *theme*:

* watch: one thread writes, the others read what it writes; sometimes one of them writes too.
* writers: every thread writes; about every third one has a look at the result before it ends.
* apart: every thread writes objects of its own, but under values that they share.
* both: every thread writes and reads in turn.
* again: one thread reads the same thing as often as it can while the others write.
* late: indices are added while somebody writes, looks something up in them or asks which there are.
* version: the resource version is written and read.

It uses one or two kinds of writes and one or two kinds of reads only: a program that mixes all kinds seldom does the
same thing twice at once. Programs in which no two calls of different threads meet are thrown away.
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
"""What changes something even where no object is ever stored."""


_Thread: TypeAlias = tuple[Operation, ...]


@dataclass(frozen=True)
class ExplorerShape:
    """How large programs are.

    Attributes:
        threads: fewest and most threads; three of four programs have the fewest.
        operations: fewest and most operations of one thread.
        prefix: the most operations before the threads start.
        keys: the most keys there are, 1 to 8.
        values: the most values an index has.
    """

    threads: tuple[int, int] = (2, 3)
    operations: tuple[int, int] = (1, 2)
    prefix: int = 3
    keys: int = 2
    values: int = 2


def explorer_program(seed: int, target: Target, semantics: Semantics, shape: ExplorerShape | None = None) -> Program:
    """The program of a seed."""
    rng = random.Random(seed)
    program, shape = Program(), shape or ExplorerShape()
    if target.may_evict:  # a small cache has two
        shape = replace(shape, keys=max(shape.keys, 3))
    for _ in range(_ATTEMPTS):
        program = _Author(rng, target, semantics, shape).program()
        changes = any(operation.written or operation.name in _OTHER_CHANGES for operation in program.operations())
        if changes and some_calls_meet(program):
            break
    return restricted_program(with_short_names(program), target)


class _Author(ArgumentSource):
    """Writes one program; numbers the stamps."""

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
            looks += (self._pick(reads),)  # whoever keeps what was read has something to keep
        fewest, most_threads = self._shape.threads
        count = fewest if self.rng.random() < 0.75 else self.rng.randint(fewest, most_threads)
        threads = tuple(theme.thread(self, number, writes or reads, reads or writes) for number in range(count))
        if theme.warms_up and self.shared is not None:
            looks += (self.shared,)
        most = self._shape.prefix
        prefix = (*prefix[: max(0, most - len(looks))], *looks)[:most]
        return Program(self._indexes, prefix, threads, self._semantics)

    def key(self) -> str:
        """The focus, or any key; the thread's own one, if it has one."""
        if self.own_key is not None:
            return self.own_key
        return self.keys[0] if self.rng.random() < 0.45 else self.rng.choice(self.keys)

    def value(self) -> str:
        """The focus, or any value: half of the writes of the focus shall move it to another value."""
        return self._values[0] if self.rng.random() < 0.2 else self.rng.choice(self._values)

    def item(self, key: str | None = None, value: str | None = None) -> Item:
        """A new version of some object; now and then it is under all values, or under none."""
        values: tuple[str, ...] = (value or self.value(),)
        if value is None and self.rng.random() < 0.1:
            values = self.rng.choice(((), tuple(self._values)))
        indexes = (*self._indexes, LATE_INDEXES[0]) if self.late else self._indexes
        return Item(key or self.key(), self._stamp(), dict.fromkeys(indexes, values))

    def bare(self) -> Item:
        """An object of which the key alone matters."""
        return Item(self.key(), self._stamp())

    def items(self) -> tuple[Item, ...]:
        """The objects of a replace: none, the focus, another one, several."""
        return tuple(self.item() for _ in range(self.rng.choice((0, 1, 1, 2))))

    def entries(self) -> tuple[tuple[WriteKind, Item], ...]:
        """The writes of a transaction; of different keys, if there are any, so that it can be seen half done."""
        first = self.key()
        others = [key for key in self.keys if key != first] or [first]
        keys = self.rng.sample((first, self.rng.choice(others)), 2)
        return tuple((self.rng.choice((*WriteKind, WriteKind.ADD)), self.item(key)) for key in keys)

    def query(self) -> Item:
        """An object to look up others with; often by several values, so that they may be looked up one by one."""
        if self.rng.random() < 0.6:
            return self.item(value=self.value())
        # In any order: a lookup value by value misses what moves from the next one to the last one.
        values = tuple(self.rng.sample(self._values, len(self._values)))
        return replace(self.item(), values=dict.fromkeys(self._indexes, values))

    def version(self) -> str:
        """A new resource version."""
        self._versions += 1
        return str(self._versions)

    def any_reads(self) -> Templates:
        """Kinds of looks at the store, whatever the program's own ones are."""
        return self._kinds(_READS)

    def read_of(self, kinds: Templates) -> Operation | None:
        """One of these, if it reads and does not write."""
        read = self._pick(kinds) if kinds else None
        return None if read is None or read.is_write else read

    def filled(self, thread: _Thread) -> _Thread:
        """As many operations as there must be, the last one over and over; and not too many."""
        most = self.most_operations
        return (*thread, *thread[-1:] * (self._shape.operations[0] - len(thread)))[-most:]

    def index(self) -> str:
        """The index that there is from the start."""
        return INDEX

    def late_index(self) -> str:
        """The late index under which objects have values."""
        return LATE_INDEXES[0]

    def late_names(self) -> Sequence[str]:
        """The names of indices to add: mostly two, so that it can be seen half done."""
        return LATE_INDEXES if self.rng.random() < 0.7 else self.rng.sample(LATE_INDEXES, 1)

    def thread(self, *kinds: Templates) -> _Thread:
        """As many operations as it may be; each of the next sequence of kinds, over and over."""
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
        """Mostly the focus is there from the start; late indices come early, before the first object."""
        most = self._shape.prefix
        early = 0.85 if self._semantics is Semantics.CLASSIC else 0.5
        if not most or self.rng.random() < (early if self.late else 0.2):
            return ()
        put = next(filter(self._offers, (OperationName.ADD, OperationName.UPDATE)), None)
        if put is None:
            return ()
        focus = self.item(self.keys[0], self._values[0])
        # Others first: what is stored twice has had no time to be seen.
        more = [self.item(key) for key in (*self.keys[1:], *self.keys)]
        items = (focus, *more[: self.rng.randint(0, most - 1)])
        return tuple(Operation(put, item=item) for item in items)

    def _kinds(self, kinds: Templates) -> Templates:
        """One or two of them. Groce et al., Swarm Testing (2012)."""
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
    """Everybody reads the same; one has just written: shared answers must not be older than that."""
    if number == 0:
        author.shared = author.read_of(reads)
    if author.shared is None:
        return author.thread(writes)
    write = author.thread(writes)[:1] if number % 2 else ()
    return author.filled((*write, author.shared))


def _stale(author: _Author, number: int, writes: Templates, reads: Templates) -> _Thread:
    """What was read before the threads began is read again, after another look that may have shown something newer."""
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
    """What a program is about, and what each of its threads does."""

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
