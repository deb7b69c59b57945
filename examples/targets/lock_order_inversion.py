"""Objects and indices have a lock each, and by_index takes them in the other order than the writers.

Two locks let list and get go on while an index is read. Writers store first and index then, by_index finds keys first
and fetches objects then: each takes the locks in the order in which it needs them. Source: plausible. Betrayed by a
deadlock of by_index and any write.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class LockOrderInversion(TextbookIndexer[T]):
    """A finer lock, twice."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        super().__init__(key_func, indexers, semantics)
        self._items_lock = threading.Lock()
        self._index_lock = threading.Lock()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._items_lock, self._index_lock:
            yield

    def _reading(self) -> AbstractContextManager[object]:
        return self._writing()

    def get_by_key(self, key: str, default: Any = None) -> Any:
        with self._items_lock:
            return self._items.get(key, default)

    def list(self) -> builtins.list[T]:
        with self._items_lock:
            return list(self._items.values())

    def by_index(self, index_name: str, index_value: str, /) -> builtins.list[T]:
        with self._index_lock:
            keys = sorted(self._keys_under(index_name, index_value))
            with self._items_lock:
                return [self._items[key] for key in keys]


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return LockOrderInversion(key_func, indexers, semantics)
