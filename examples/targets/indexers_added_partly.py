"""add_indexers adds one index after the other, and stops at the first name that exists already.

The check stands in the loop, right before the line that needs it. Source: plausible; client-go checks all names first.
Betrayed by get_indexers after the error: the names before the clash are there.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class IndexersAddedPartly(TextbookIndexer[T]):
    """Checks each name when its turn comes."""

    def add_indexers(self, new_indexers: Indexers[T], /) -> None:
        with self._writing():
            self._check_new({})
            for name, func in dict(new_indexers).items():
                added = {name: func}
                self._check_new(added)
                self._extend(added, {key: self._values_of(key, obj, added) for key, obj in self._items.items()})


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return IndexersAddedPartly(key_func, indexers, semantics)
