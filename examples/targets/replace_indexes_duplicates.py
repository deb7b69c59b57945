"""replace with a repeated key stores the last object, but indexes each of them.

A loop over the list fills the map and the indices; the map forgets the earlier object, the indices do not. Source:
plausible; client-go turns the list into a map first. Betrayed by by_index of a value that only the earlier object has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class ReplaceIndexesDuplicates(TextbookIndexer[T]):
    """Enters one key for two objects."""

    def replace(self, objs: Iterable[T], _resource_version: str = "", /) -> None:
        keyed = [(self._key_of(obj), obj) for obj in objs]
        with self._writing():
            values = [self._values_of(key, obj, self._indexers) for key, obj in keyed]
            self._fill({}, {})
            for (key, obj), indexed in zip(keyed, values, strict=True):
                self._items[key] = obj
                self._link(key, indexed)


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return ReplaceIndexesDuplicates(key_func, indexers, semantics)
