"""A lock for each key orders the writes of that key; what to change in the indices is found out under it alone.

Correct. What an object was indexed under is changed only by writes of its key, which hold the lock of that key from the
look to the change, and by replace and add_indexers, which count an epoch up; if they came in between, add starts again.
Changes and reads take effect while they hold the store's lock. All threads get the same lock for a key, since the locks
are made under a guard, and stay for ever. Index functions must not write to the same key.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar

from textbook import TextbookIndexer, Values

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class KeyLocksIndexer(TextbookIndexer[T]):
    """The difference is made outside the store's lock."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        super().__init__(key_func, indexers, semantics)
        self._guard = threading.Lock()
        self._key_locks: dict[str, threading.Lock] = {}
        self._epoch = 0

    def add(self, obj: T, /) -> None:
        key = self._key_of(obj)
        with self._lock_of(key):
            while not self._exchanged(key, obj):
                pass

    def delete(self, obj: T, /) -> None:
        key = self._key_of(obj)
        with self._lock_of(key), self._writing():
            self._drop(key)

    def _lock_of(self, key: str) -> threading.Lock:
        with self._guard:
            if key not in self._key_locks:
                self._key_locks[key] = threading.Lock()
            return self._key_locks[key]

    def _exchanged(self, key: str, obj: T) -> bool:
        with self._reading():
            epoch, indexers, before = self._epoch, self._indexers, self._values.get(key, {})
        after = self._values_of(key, obj, indexers)
        gone = [(name, value) for name, values in before.items() for value in values if value not in after[name]]
        come = [
            (name, value) for name, values in after.items() for value in values if value not in before.get(name, ())
        ]
        with self._writing():
            if self._epoch != epoch:
                return False
            self._items[key] = obj
            self._values[key] = after
            for name, value in gone:
                self._leave(self._indices[name], value, key)
            for name, value in come:
                self._enter(self._indices[name], value, key)
            return True

    def _fill(self, items: dict[str, T], values: dict[str, Values]) -> None:
        super()._fill(items, values)
        self._epoch += 1

    def _extend(self, added: Indexers[T], values: dict[str, Values]) -> None:
        super()._extend(added, values)
        self._epoch += 1


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return KeyLocksIndexer(key_func, indexers, semantics)
