"""Copy-on-write: the whole state is one immutable snapshot, and each write publishes a new one.

Correct. A read takes effect when it loads the attribute with the current snapshot, since all it returns comes from that
one, which nobody changes. A write takes effect when it stores that attribute; writers hold a lock from the load of the
old snapshot to the store of the new one, so none is lost. Both are single steps, with and without the GIL.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeAlias, TypeVar

from textbook import Values, key_of, values_of

from kcache import (
    Indexer,
    IndexerConflictError,
    Indexers,
    IndexersRunningError,
    IndexNotFoundError,
    KeyFunc,
    Semantics,
)

T = TypeVar("T")

Indices: TypeAlias = Mapping[str, Mapping[str, frozenset[str]]]
"""Index name -> index value -> keys."""


@dataclass(frozen=True)
class Snapshot(Generic[T]):
    """One state of the store. Nothing in it ever changes; its methods return new ones."""

    indexers: Indexers[T]
    items: Mapping[str, T]
    values: Mapping[str, Values]
    indices: Indices

    @classmethod
    def of(cls, indexers: Indexers[T], items: Mapping[str, T], values: Mapping[str, Values]) -> Snapshot[T]:
        found: dict[str, dict[str, set[str]]] = {name: {} for name in indexers}
        for key, indexed in values.items():
            for name, index_values in indexed.items():
                for value in index_values:
                    found[name].setdefault(value, set()).add(key)
        frozen = {name: {value: frozenset(keys) for value, keys in index.items()} for name, index in found.items()}
        return cls(indexers, items, values, frozen)

    def with_object(self, key: str, obj: T, values: Values) -> Snapshot[T]:
        indices = self._moved(key, values)
        return replace(self, items={**self.items, key: obj}, values={**self.values, key: values}, indices=indices)

    def without(self, key: str) -> Snapshot[T]:
        items = {other: obj for other, obj in self.items.items() if other != key}
        values = {other: indexed for other, indexed in self.values.items() if other != key}
        return replace(self, items=items, values=values, indices=self._moved(key, {}))

    def keys_under(self, index_name: str, index_values: Iterable[str]) -> list[str]:
        if index_name not in self.indices:
            raise IndexNotFoundError(index_name)
        index = self.indices[index_name]
        return sorted({key for value in index_values for key in index.get(value, ())})

    def _moved(self, key: str, new: Values) -> Indices:
        old = self.values.get(key, {})
        moved: dict[str, dict[str, frozenset[str]]] = {}
        for name, index in self.indices.items():
            after = moved[name] = dict(index)
            for value in old.get(name, ()):
                after[value] = after[value] - {key}
                if not after[value]:
                    del after[value]
            for value in new.get(name, ()):
                after[value] = after.get(value, frozenset()) | {key}
        return moved


class CopyOnWriteIndexer(Generic[T]):
    """Readers without a lock, writers one after another; a write costs a copy of the dicts."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        self._lock = threading.RLock()
        self._key_func = key_func
        self._semantics = Semantics(semantics)
        self._snapshot: Snapshot[T] = Snapshot.of(dict(indexers), {}, {})

    def add(self, obj: T, /) -> None:
        key = key_of(self._key_func, obj)
        with self._writing():
            now = self._snapshot
            self._snapshot = now.with_object(key, obj, values_of(key, obj, now.indexers))

    def update(self, obj: T, /) -> None:
        self.add(obj)

    def delete(self, obj: T, /) -> None:
        key = key_of(self._key_func, obj)
        with self._writing():
            self._snapshot = self._snapshot.without(key)

    def replace(self, objs: Iterable[T], _resource_version: str = "", /) -> None:
        items = {key_of(self._key_func, obj): obj for obj in objs}
        with self._writing():
            indexers = self._snapshot.indexers
            values = {key: values_of(key, obj, indexers) for key, obj in items.items()}
            self._snapshot = Snapshot.of(indexers, items, values)

    def resync(self) -> None:
        """Nothing to do."""

    def get(self, obj: T, default: Any = None) -> Any:
        return self.get_by_key(key_of(self._key_func, obj), default)

    def get_by_key(self, key: str, default: Any = None) -> Any:
        return self._snapshot.items.get(key, default)

    def list(self) -> builtins.list[T]:
        return list(self._snapshot.items.values())

    def list_keys(self) -> builtins.list[str]:
        return list(self._snapshot.items)

    def index(self, index_name: str, obj: T, /) -> builtins.list[T]:
        now = self._snapshot
        if index_name not in now.indexers:
            raise IndexNotFoundError(index_name)
        values = values_of(None, obj, {index_name: now.indexers[index_name]})
        return [now.items[key] for key in now.keys_under(index_name, values[index_name])]

    def index_keys(self, index_name: str, index_value: str, /) -> builtins.list[str]:
        return self._snapshot.keys_under(index_name, [index_value])

    def by_index(self, index_name: str, index_value: str, /) -> builtins.list[T]:
        now = self._snapshot
        return [now.items[key] for key in now.keys_under(index_name, [index_value])]

    def list_index_func_values(self, index_name: str, /) -> builtins.list[str]:
        return list(self._snapshot.indices.get(index_name, {}))

    def get_indexers(self) -> Indexers[T]:
        return dict(self._snapshot.indexers)

    def add_indexers(self, new_indexers: Indexers[T], /) -> None:
        added = dict(new_indexers)
        with self._writing():
            now = self._snapshot
            if now.items and self._semantics is Semantics.CLASSIC:
                raise IndexersRunningError
            if conflicts := added.keys() & now.indexers.keys():
                raise IndexerConflictError(conflicts)
            values = {key: {**now.values[key], **values_of(key, obj, added)} for key, obj in now.items.items()}
            self._snapshot = Snapshot.of({**now.indexers, **added}, now.items, values)

    def _writing(self) -> AbstractContextManager[object]:
        return self._lock


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return CopyOnWriteIndexer(key_func, indexers, semantics)
