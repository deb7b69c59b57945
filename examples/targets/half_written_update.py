"""An object is stored before its index functions were asked, so one that fails leaves the write half done.

The natural order of a first version: first the map, then the indices. Source: kubernetes#43566; client-go panics there
to this day, with the new object stored and its index entries gone. Betrayed by the lookups after the error: get_by_key
returns the new object, by_index finds neither the new nor the old one.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class HalfWrittenUpdate(TextbookIndexer[T]):
    """Stores first and calls index functions afterwards."""

    def add(self, obj: T, /) -> None:
        key = self._key_of(obj)
        with self._writing():
            self._drop(key)
            self._items[key] = obj
            self._link(key, self._values_of(key, obj, self._indexers))


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return HalfWrittenUpdate(key_func, indexers, semantics)
