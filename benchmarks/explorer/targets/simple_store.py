"""An indexed store as one writes it without further thought: one lock, two dicts, sets of keys by value."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Iterable
from typing import Any

UNSUPPORTED = ["get", "index", "list_index_func_values"]


class SimpleStore:
    """Correct: every call holds the lock from its first look to its last."""

    def __init__(self, key_func: Callable[[Any], str], indexers: dict[str, Callable[[Any], list[str]]]) -> None:
        self._lock = threading.RLock()
        self._key_func = key_func
        self._indexers = dict(indexers)
        self._items: dict[str, Any] = {}
        self._indices: dict[str, dict[str, set[str]]] = {name: {} for name in indexers}

    def add(self, obj: Any) -> None:
        key = self._key_func(obj)
        with self._lock:
            self._store(key, obj)

    def update(self, obj: Any) -> None:
        self.add(obj)

    def delete(self, obj: Any) -> None:
        key = self._key_func(obj)
        with self._lock:
            self._unlink(key, self._items.pop(key, None))

    def replace(self, objs: Iterable[Any], _resource_version: str = "") -> None:
        items = {self._key_func(obj): obj for obj in objs}
        with self._lock:
            self._items = items
            self._rebuild()

    def get_by_key(self, key: str, default: Any = None) -> Any:
        with self._lock:
            return self._items.get(key, default)

    def list(self) -> builtins.list[Any]:
        with self._lock:
            return list(self._items.values())

    def list_keys(self) -> builtins.list[str]:
        with self._lock:
            return list(self._items)

    def by_index(self, index_name: str, value: str) -> builtins.list[Any]:
        with self._lock:
            return [self._items[key] for key in sorted(self._indices[index_name].get(value, ()))]

    def index_keys(self, index_name: str, value: str) -> builtins.list[str]:
        with self._lock:
            return sorted(self._indices[index_name].get(value, ()))

    def _store(self, key: str, obj: Any) -> None:
        self._unlink(key, self._items.get(key))
        self._items[key] = obj
        self._link(key, obj)

    def _link(self, key: str, obj: Any) -> None:
        for name, func in self._indexers.items():
            for value in func(obj):
                self._indices[name].setdefault(value, set()).add(key)

    def _unlink(self, key: str, obj: Any) -> None:
        if obj is None:
            return
        for name, func in self._indexers.items():
            for value in func(obj):
                keys = self._indices[name].get(value, set())
                keys.discard(key)
                if not keys:
                    self._indices[name].pop(value, None)

    def _rebuild(self) -> None:
        self._indices = {name: {} for name in self._indexers}
        for key, obj in self._items.items():
            self._link(key, obj)


def new_indexer(key_func: Any, indexers: Any, semantics: str = "classic") -> Any:
    del semantics
    return SimpleStore(key_func, indexers)


new_indexer.kcache_unsupported = UNSUPPORTED  # type: ignore[attr-defined]
