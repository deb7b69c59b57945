"""index_keys returns the keys in the order in which they were stored.

Keys come out of a set or a dict, and in a small test the order happens to be right. Source: plausible; client-go
sorts, and its users rely on it. Betrayed by index_keys after objects were added out of order.
"""

from __future__ import annotations

import builtins
from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class IndexKeysUnsorted(TextbookIndexer[T]):
    """Leaves the order to the dict."""

    def index_keys(self, index_name: str, index_value: str, /) -> builtins.list[str]:
        with self._reading():
            keys = self._keys_under(index_name, index_value)
            return [key for key in self._items if key in keys]


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return IndexKeysUnsorted(key_func, indexers, semantics)
