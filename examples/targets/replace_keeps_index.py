"""replace exchanges the objects and adds their index entries, but the old entries stay.

The map of objects is simply assigned anew, which makes it look as if everything old were gone. Source: plausible.
Betrayed by index_keys after a replace: it names keys that are no longer stored.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import TextbookIndexer, Values

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class ReplaceKeepsIndex(TextbookIndexer[T]):
    """Forgets to empty the indices."""

    def _fill(self, items: dict[str, T], values: dict[str, Values]) -> None:
        self._items = items
        self._values = {}
        for key in items:
            self._link(key, values[key])


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return ReplaceKeepsIndex(key_func, indexers, semantics)
