"""The obvious Python port of client-go's indexer, for comparison: one lock, and key sets per index value.

Everything happens under the lock: index functions run there, on the old and on the new object, and so do lookups,
which fetch object by object. This is client-go's own structure (v0.18 to v0.29), without its checks of what key
functions and index functions return.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Iterable
from typing import Generic, TypeVar

from kcache import Indexers, KeyFunc

T = TypeVar("T")


class NaiveIndexer(Generic[T]):
    """Keys, objects and key sets under one lock."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T]) -> None:
        self._lock = threading.RLock()
        self._key_func = key_func
        self._indexers = dict(indexers)
        self._items: dict[str, T] = {}
        self._indices: dict[str, dict[str, set[str]]] = {name: {} for name in indexers}

    def add(self, obj: T) -> None:
        key = self._key_func(obj)
        with self._lock:
            old = self._items.get(key)
            self._items[key] = obj
            self._update_indices(key, old, obj)

    update = add

    def delete(self, obj: T) -> None:
        key = self._key_func(obj)
        with self._lock:
            old = self._items.pop(key, None)
            if old is not None:
                self._update_indices(key, old, None)

    def replace(self, objs: Iterable[T]) -> None:
        items = {self._key_func(obj): obj for obj in objs}
        with self._lock:
            self._items = items
            self._indices = {name: {} for name in self._indexers}
            for key, obj in items.items():
                self._update_indices(key, None, obj)

    def get_by_key(self, key: str) -> T | None:
        with self._lock:
            return self._items.get(key)

    def list(self) -> builtins.list[T]:
        with self._lock:
            return list(self._items.values())

    def by_index(self, index_name: str, index_value: str) -> builtins.list[T]:
        with self._lock:
            return [self._items[key] for key in self._indices[index_name].get(index_value, ())]

    def index_keys(self, index_name: str, index_value: str) -> builtins.list[str]:
        with self._lock:
            return sorted(self._indices[index_name].get(index_value, ()))

    def list_index_func_values(self, index_name: str) -> builtins.list[str]:
        with self._lock:
            return list(self._indices[index_name])

    def add_indexers(self, new_indexers: Indexers[T]) -> None:
        with self._lock:
            for name, func in new_indexers.items():
                self._indexers[name] = func
                self._indices[name] = {}
                for key, obj in self._items.items():
                    for value in func(obj) or ():
                        self._indices[name].setdefault(value, set()).add(key)

    def _update_indices(self, key: str, old: T | None, new: T | None) -> None:
        for name, func in self._indexers.items():
            old_values = [] if old is None else func(old) or []
            new_values = [] if new is None else func(new) or []
            if len(old_values) == len(new_values) == 1 and old_values[0] == new_values[0]:
                continue
            index = self._indices[name]
            for value in old_values:
                keys = index.get(value)
                if keys is not None:
                    keys.discard(key)
                    if not keys:
                        del index[value]
            for value in new_values:
                keys = index.get(value)
                if keys is None:
                    keys = index[value] = set()
                keys.add(key)
