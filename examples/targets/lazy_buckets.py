"""The sets of the indices are made on demand, without the store's lock, by double-checked locking, and never removed.

Correct. Whoever does not find a set looks again under a lock for making them, so each value gets one set for good, and
who holds it may use it later. The sets are changed and read under the store's lock only: a call takes effect at any one
moment while it holds that. Sets that are empty count as none. The twin `bucket_made_twice` does not look again.
"""

from __future__ import annotations

import builtins
import threading
from typing import Any, TypeVar

from textbook import Index, TextbookIndexer, Values

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class LazyBucketsIndexer(TextbookIndexer[T]):
    """User functions and the search for sets run before the store's lock is taken."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        super().__init__(key_func, indexers, semantics)
        self._making = threading.Lock()

    def add(self, obj: T, /) -> None:
        key = self._key_of(obj)
        while True:
            indexers = self._indexers
            values = self._values_of(key, obj, indexers)
            buckets = [self._bucket(self._indices[name], value) for name, found in values.items() for value in found]
            with self._writing():
                if self._indexers is indexers:
                    self._drop(key)
                    self._items[key] = obj
                    self._values[key] = values
                    for bucket in buckets:
                        bucket.add(key)
                    return

    def list_index_func_values(self, index_name: str, /) -> builtins.list[str]:
        with self._reading():
            return [value for value, keys in list(self._indices.get(index_name, {}).items()) if keys]

    def _bucket(self, index: Index, value: str) -> set[str]:
        """The one set of a value."""
        bucket = index.get(value)
        if bucket is None:
            with self._making:
                bucket = index.get(value)
                if bucket is None:
                    bucket = index[value] = set()
        return bucket

    def _fill(self, items: dict[str, T], values: dict[str, Values]) -> None:
        for index in self._indices.values():
            for bucket in list(index.values()):
                bucket.clear()
        self._items = items
        self._values = {}
        for key in items:
            self._link(key, values[key])

    def _extend(self, added: Indexers[T], values: dict[str, Values]) -> None:
        self._indices = {**self._indices, **{name: {} for name in added}}  # first: add needs one for each function
        self._indexers = {**self._indexers, **added}
        for key, more in values.items():
            self._link(key, {**self._values[key], **more})

    def _enter(self, index: Index, value: str, key: str) -> None:
        self._bucket(index, value).add(key)

    def _leave(self, index: Index, value: str, key: str) -> None:
        index[value].discard(key)


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return LazyBucketsIndexer(key_func, indexers, semantics)
