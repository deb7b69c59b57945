"""A lookup of a value that no object has raises, instead of finding nothing.

A plain subscript, tested only with values that exist. Source: kubernetes-client/java#2548. Betrayed by by_index and
index_keys with a value that nobody has, or nobody has any more.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class UnknownValueRaises(TextbookIndexer[T]):
    """Expects every value to be known."""

    def _keys_under(self, index_name: str, index_value: str) -> set[str]:
        return self._existing(index_name)[index_value]


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return UnknownValueRaises(key_func, indexers, semantics)
