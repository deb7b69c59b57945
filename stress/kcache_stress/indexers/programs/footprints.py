"""Footprints: the parts of the state that a call of a program reads and writes. They show which calls can conflict.

In this module, two calls *meet* if they conflict.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kcache_model.indexers.items import Item
from kcache_model.indexers.operations import Operation, OperationName
from kcache_model.indexers.program import Program

Cell: TypeAlias = tuple[str, ...]
"""Part of the state: one key, one value of one index, the set of indices, or the resource version."""

_INDEXERS: Cell = ("indexers",)
_VERSION: Cell = ("version",)


@dataclass(frozen=True)
class Footprint:
    """The parts of the state that a call depends on and the parts that it may change."""

    reads: frozenset[Cell] = frozenset()
    writes: frozenset[Cell] = frozenset()

    def meets(self, other: Footprint) -> bool:
        """Whether the footprints conflict: one of them writes a cell that the other reads or writes."""
        return not (
            self.writes.isdisjoint(other.writes)
            and self.writes.isdisjoint(other.reads)
            and self.reads.isdisjoint(other.writes)
        )


@dataclass(frozen=True)
class Domain:
    """Objects that the store may ever hold, as the cells of each key: the key itself and the values of its objects.

    Attributes:
        of_key: pairs of a key and its cells, sorted by key.
    """

    of_key: tuple[tuple[str, frozenset[Cell]], ...]

    @staticmethod
    def of(items: Iterable[Item], indexes: Iterable[str]) -> Domain:
        """Return the domain of an Indexer with these indices to which only these items are written."""
        known = set(indexes)
        cells: dict[str, set[Cell]] = {}
        for item in items:
            if item.key is not None:
                cells.setdefault(item.key, {("key", item.key)}).update(
                    ("value", index, value)
                    for index, found in item.values.items()
                    if index in known
                    for value in found or ()
                )
        return Domain(tuple((key, frozenset(found)) for key, found in sorted(cells.items())))

    @staticmethod
    def of_program(program: Program) -> Domain:
        """Return the domain of the objects that a program writes, with the indices that it adds."""
        late = (name for operation in program.operations() for name in operation.names)
        written = (item for operation in program.operations() for item in operation.written)
        return Domain.of(written, (*program.indexes, *late))

    def footprint(self, operation: Operation) -> Footprint:
        """Return the cells that an operation reads and writes if the store holds only objects of this domain.

        A write of a key counts as a write of all values that the key may have: the object leaves one value and enters
        another.
        """
        name = operation.name
        match name:
            case OperationName.ADD | OperationName.UPDATE | OperationName.DELETE:
                return Footprint(writes=self._written(operation.given))
            case OperationName.TRANSACTION:
                return Footprint(writes=self._written(item for _, item in operation.entries))
            case OperationName.REPLACE:
                return Footprint(writes=self._all() | {_VERSION})
            case OperationName.MUTATE:
                return Footprint(writes=self._under(operation.key))
            case OperationName.BOOKMARK:
                return Footprint(writes=frozenset({_VERSION}))
            case OperationName.ADD_INDEXERS:
                return Footprint(reads=self._all(), writes=frozenset({_INDEXERS}))
            case OperationName.LAST_SYNC_RESOURCE_VERSION:
                return Footprint(reads=frozenset({_VERSION}))
            case OperationName.GET_INDEXERS:
                return Footprint(reads=frozenset({_INDEXERS}))
            case OperationName.GET | OperationName.GET_BY_KEY:
                keys = {operation.key, *(item.key for item in operation.given)}
                return Footprint(reads=frozenset(("key", key) for key in keys if key is not None))
            case OperationName.LIST | OperationName.LIST_KEYS | OperationName.RESYNC:
                return Footprint(reads=frozenset(cell for cell in self._all() if cell[0] == "key"))
            case _:
                return Footprint(reads=self._looked_up(operation))

    def _all(self) -> frozenset[Cell]:
        return frozenset().union(*(cells for _, cells in self.of_key))

    def _under(self, key: str | None) -> frozenset[Cell]:
        return dict(self.of_key).get(key or "", frozenset())

    def _written(self, items: Iterable[Item]) -> frozenset[Cell]:
        items = tuple(items)
        versions = (
            frozenset({_VERSION}) if any(item.resource_version is not None for item in items) else frozenset[Cell]()
        )
        return versions.union(*(self._under(item.key) for item in items))

    def _looked_up(self, operation: Operation) -> frozenset[Cell]:
        index = operation.index or ""
        if operation.name is OperationName.LIST_INDEX_FUNC_VALUES:
            return frozenset(cell for cell in self._all() if cell[:2] == ("value", index)) | {_INDEXERS}
        values = {operation.value, *(value for item in operation.given for value in item.values.get(index) or ())}
        return frozenset(("value", index, value) for value in values if value is not None) | {_INDEXERS}


def every_call_meets(program: Program) -> bool:
    """Whether each call of each thread meets a call of another thread."""
    domain = Domain.of_program(program)
    return all_meet([[domain.footprint(operation) for operation in thread] for thread in program.threads])


def all_meet(threads: Sequence[Sequence[Footprint]]) -> bool:
    """Whether each call of each thread meets a call of another thread; each call is represented by its footprint."""
    return all(
        any(call.meets(other) for theirs in threads if theirs is not thread for other in theirs)
        for thread in threads
        for call in thread
    )


def some_calls_meet(program: Program) -> bool:
    """Whether at least two calls of different threads meet."""
    domain = Domain.of_program(program)
    threads = [[domain.footprint(operation) for operation in thread] for thread in program.threads]
    return any(
        call.meets(other)
        for one, two in itertools.combinations(threads, 2)
        for call, other in itertools.product(one, two)
    )
