"""add_indexers is allowed on a store that holds objects, but does not index them.

An index is a dict from name to function, so to add one looks like one assignment. Up to v0.29 client-go refuses, since
v0.30 it indexes what is there (kubernetes#70881); this target does neither. Betrayed by the missing error (classic), or
by by_index, which finds nothing until each object is updated (current).
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import TextbookIndexer, Values

from kcache import Indexer, IndexerConflictError, Indexers, KeyFunc

T = TypeVar("T")


class LateIndexerEmpty(TextbookIndexer[T]):
    """Leaves the objects that are there to the next update."""

    def _check_new(self, added: Indexers[T]) -> None:
        if conflicts := added.keys() & self._indexers.keys():
            raise IndexerConflictError(conflicts)

    def _extend(self, added: Indexers[T], _: dict[str, Values]) -> None:
        super()._extend(added, {})


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return LateIndexerEmpty(key_func, indexers, semantics)
