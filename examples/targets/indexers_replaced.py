"""add_indexers replaces the indices that were there instead of adding to them.

Each part of a program adds "its" index to a fresh store, and the test of each part passes; together, the last one wins.
Source: before kubernetes PR #25671 the informer made a new store for each set of indexers. Betrayed by a lookup in an
index that existed before.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import TextbookIndexer, Values

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class IndexersReplaced(TextbookIndexer[T]):
    """Adding starts anew."""

    def _extend(self, added: Indexers[T], values: dict[str, Values]) -> None:
        self._indexers = dict(added)
        self._indices = {name: {} for name in added}
        for key, more in values.items():
            self._link(key, more)


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return IndexersReplaced(key_func, indexers, semantics)
