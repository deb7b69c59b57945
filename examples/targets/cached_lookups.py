"""by_index keeps its results until the next write, and enters them after it has given the lock back.

The lookup is the library's own and takes the lock, the cache in front of it is a dict and needs none. But a write that
comes between the two has cleared the cache already. Source: plausible; any cache that is filled after the read.
Betrayed by by_index long after the write: it still returns what was there before.
"""

from __future__ import annotations

import builtins
from typing import Any, TypeVar

from textbook import TextbookIndexer, Values

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class CachedLookups(TextbookIndexer[T]):
    """Remembers what it found under a value."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        super().__init__(key_func, indexers, semantics)
        self._cached: dict[tuple[str, str], builtins.list[T]] = {}

    def by_index(self, index_name: str, index_value: str, /) -> builtins.list[T]:
        found = self._cached.get((index_name, index_value))
        if found is None:
            found = super().by_index(index_name, index_value)
            self._cached[index_name, index_value] = found
        return list(found)

    def _put(self, key: str, obj: T, values: Values) -> None:
        super()._put(key, obj, values)
        self._cached.clear()

    def _drop(self, key: str) -> None:
        super()._drop(key)
        self._cached.clear()

    def _fill(self, items: dict[str, T], values: dict[str, Values]) -> None:
        super()._fill(items, values)
        self._cached.clear()


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return CachedLookups(key_func, indexers, semantics)
