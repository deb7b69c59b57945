"""Index entries hold the records themselves: an object with its key and the values that it was indexed under.

Correct. User functions run before the lock is taken, so they may be slow and may call the store; only add_indexers asks
them under the lock. A call takes effect while it holds the lock. If add_indexers came in between, the values computed
before the lock are out of date, which shows by the dict of index functions being another one; they are computed again.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

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


@dataclass(frozen=True, eq=False)
class Record(Generic[T]):
    """What is stored under one key."""

    key: str
    obj: T
    values: Values


class RememberedValuesIndexer(Generic[T]):
    """Records by key, and for each (index name, index value) the records under it by key."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        self._lock = threading.RLock()
        self._key_func = key_func
        self._semantics = Semantics(semantics)
        self._indexers: Indexers[T] = dict(indexers)  # replaced by add_indexers, never changed
        self._records: dict[str, Record[T]] = {}
        self._found: dict[tuple[str, str], dict[str, Record[T]]] = {}

    def add(self, obj: T, /) -> None:
        key = key_of(self._key_func, obj)
        while True:
            indexers = self._indexers
            record = Record(key, obj, values_of(key, obj, indexers))
            with self._lock:
                if self._indexers is indexers:
                    self._take_out(key)
                    self._put_in(record)
                    return

    def update(self, obj: T, /) -> None:
        self.add(obj)

    def delete(self, obj: T, /) -> None:
        key = key_of(self._key_func, obj)
        with self._lock:
            self._take_out(key)

    def replace(self, objs: Iterable[T], _resource_version: str = "", /) -> None:
        items = {key_of(self._key_func, obj): obj for obj in objs}
        while True:
            indexers = self._indexers
            records = [Record(key, obj, values_of(key, obj, indexers)) for key, obj in items.items()]
            with self._lock:
                if self._indexers is indexers:
                    self._refill(records)
                    return

    def resync(self) -> None:
        """Nothing to do."""

    def get(self, obj: T, default: Any = None) -> Any:
        return self.get_by_key(key_of(self._key_func, obj), default)

    def get_by_key(self, key: str, default: Any = None) -> Any:
        with self._lock:
            record = self._records.get(key)
        return default if record is None else record.obj

    def list(self) -> builtins.list[T]:
        with self._lock:
            return [record.obj for record in self._records.values()]

    def list_keys(self) -> builtins.list[str]:
        with self._lock:
            return list(self._records)

    def index(self, index_name: str, obj: T, /) -> builtins.list[T]:
        indexers = self._indexers
        if index_name not in indexers:
            raise IndexNotFoundError(index_name)
        values = values_of(None, obj, {index_name: indexers[index_name]})
        return [record.obj for record in self._lookup(index_name, values[index_name])]

    def index_keys(self, index_name: str, index_value: str, /) -> builtins.list[str]:
        return sorted(record.key for record in self._lookup(index_name, [index_value]))

    def by_index(self, index_name: str, index_value: str, /) -> builtins.list[T]:
        return [record.obj for record in self._lookup(index_name, [index_value])]

    def list_index_func_values(self, index_name: str, /) -> builtins.list[str]:
        with self._lock:
            return [value for name, value in self._found if name == index_name]

    def get_indexers(self) -> Indexers[T]:
        return dict(self._indexers)

    def add_indexers(self, new_indexers: Indexers[T], /) -> None:
        added = dict(new_indexers)
        with self._lock:
            if self._records and self._semantics is Semantics.CLASSIC:
                raise IndexersRunningError
            if conflicts := added.keys() & self._indexers.keys():
                raise IndexerConflictError(conflicts)
            records = [
                replace(record, values={**record.values, **values_of(record.key, record.obj, added)})
                for record in self._records.values()
            ]
            self._indexers = {**self._indexers, **added}
            self._refill(records)

    def _lookup(self, index_name: str, values: Iterable[str]) -> Iterable[Record[T]]:
        with self._lock:
            if index_name not in self._indexers:
                raise IndexNotFoundError(index_name)
            found: dict[str, Record[T]] = {}
            for value in values:
                found.update(self._found.get((index_name, value), {}))
            return found.values()

    def _refill(self, records: Iterable[Record[T]]) -> None:
        self._records, self._found = {}, {}
        for record in records:
            self._put_in(record)

    def _put_in(self, record: Record[T]) -> None:
        self._records[record.key] = record
        for name, values in record.values.items():
            for value in values:
                self._found.setdefault((name, value), {})[record.key] = record

    def _take_out(self, key: str) -> None:
        record = self._records.pop(key, None)
        if record is None:
            return
        for name, values in record.values.items():
            for value in values:
                records = self._found[name, value]
                del records[key]
                if not records:
                    del self._found[name, value]


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return RememberedValuesIndexer(key_func, indexers, semantics)
