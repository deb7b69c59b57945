"""A lookup in an index that does not exist finds nothing, instead of raising.

A chain of dict.get with defaults is short and never fails; a misspelt index name then looks like an empty store.
Source: plausible. Betrayed by by_index and index_keys with an unknown index name.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import Index, TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class UnknownIndexEmpty(TextbookIndexer[T]):
    """Has an empty index of every name."""

    def _existing(self, index_name: str) -> Index:
        return self._indices.get(index_name, {})


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return UnknownIndexEmpty(key_func, indexers, semantics)
