"""Index values whose last object goes leave an empty set behind.

Taking a key out of a set is the obvious half of the work; that the set must go too is easily forgotten. With values
that come and go, as uids do, memory grows for ever. Source: kubernetes#84959, and kubernetes-client/java#3510.
Betrayed by list_index_func_values, which goes on naming the value.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import Index, TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class EmptySetsLeft(TextbookIndexer[T]):
    """Never deletes a set."""

    def _leave(self, index: Index, value: str, key: str) -> None:
        index[value].discard(key)


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return EmptySetsLeft(key_func, indexers, semantics)
