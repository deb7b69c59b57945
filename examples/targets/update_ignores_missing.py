"""update of a key that is not stored does nothing.

In most APIs update means that there is something to update. Here it means the same as add, because a watch that was
interrupted may report a change of an object that it never reported before. Source: plausible. Betrayed by get after
such an update.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class UpdateIgnoresMissing(TextbookIndexer[T]):
    """Updates what is there."""

    def update(self, obj: T, /) -> None:
        with self._writing():
            if self._key_of(obj) in self._items:
                self.add(obj)


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return UpdateIgnoresMissing(key_func, indexers, semantics)
