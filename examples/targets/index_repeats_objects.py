"""index returns an object once for every value that it shares.

With one value for each object, as in most indices, the loop over the values needs no set. Source: plausible.
Betrayed by index with an object of two values: what has both of them comes twice.
"""

from __future__ import annotations

import builtins
from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class IndexRepeatsObjects(TextbookIndexer[T]):
    """Concatenates what it finds."""

    def index(self, index_name: str, obj: T, /) -> builtins.list[T]:
        with self._reading():
            index = self._existing(index_name)
            values = self._values_of(None, obj, {index_name: self._indexers[index_name]})[index_name]
            return [self._items[key] for value in values for key in sorted(index.get(value, ()))]


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return IndexRepeatsObjects(key_func, indexers, semantics)
