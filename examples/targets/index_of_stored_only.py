"""index looks up the values that the object's key was stored with, instead of asking about the object it is given.

The values are remembered, so why compute them again? Because the object need not be stored, and may be a newer version.
Source: plausible. Betrayed by index with an object that is not in the store: it finds nothing.
"""

from __future__ import annotations

import builtins
from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class IndexOfStoredOnly(TextbookIndexer[T]):
    """Takes the probe for what is stored."""

    def index(self, index_name: str, obj: T, /) -> builtins.list[T]:
        with self._reading():
            index = self._existing(index_name)
            values = self._values.get(self._key_of(obj), {}).get(index_name, ())
            keys = set[str]().union(*(index[value] for value in values))
            return [self._items[key] for key in sorted(keys)]


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return IndexOfStoredOnly(key_func, indexers, semantics)
