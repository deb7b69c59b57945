"""get and get_by_key read records without the lock, and the records of deleted or replaced objects are used again.

A record in the dict never changes, so reading it would be safe; but a reader may hold one that left the dict a moment
ago. Source: plausible; free lists save allocations, and cost whoever still looks. Broken after add by T2's get_by_key,
which has found the record of its key; T1's delete of that key; T1's add of another key, which fills the same record.
Betrayed by get_by_key, which returns an object of another key.
"""

from __future__ import annotations

import builtins
from typing import Any, Generic, TypeVar

from textbook import TextbookIndexer, Values

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class Record(Generic[T]):
    """A place for an object."""

    def __init__(self, obj: T) -> None:
        self.obj = obj


class RecycledRecords(TextbookIndexer[T]):
    """Has a free list."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        super().__init__(key_func, indexers, semantics)
        self._records: dict[str, Record[T]] = {}
        self._free: builtins.list[Record[T]] = []

    def get_by_key(self, key: str, default: Any = None) -> Any:
        record = self._records.get(key)
        return default if record is None else record.obj

    def _put(self, key: str, obj: T, values: Values) -> None:
        self._unlink(key)
        self._items[key] = obj
        self._link(key, values)
        before = self._records.get(key)
        self._records[key] = self._record(obj)
        if before is not None:
            self._free.append(before)

    def _drop(self, key: str) -> None:
        super()._drop(key)
        before = self._records.pop(key, None)
        if before is not None:
            self._free.append(before)

    def _fill(self, items: dict[str, T], values: dict[str, Values]) -> None:
        super()._fill(items, values)
        before = self._records
        self._records = {key: self._record(obj) for key, obj in items.items()}
        self._free += before.values()

    def _record(self, obj: T) -> Record[T]:
        if not self._free:
            return Record(obj)
        record = self._free.pop()
        record.obj = obj
        return record


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return RecycledRecords(key_func, indexers, semantics)
