"""The index functions are asked again about the stored object to find the entries to remove.

It saves to remember the values. Source: client-go does so, and demands that stored objects are never changed in place;
if someone does it all the same, the entries of the old values are never found again. Betrayed by index_keys of the old
value after the object was changed in place and deleted.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class StaleAfterMutation(TextbookIndexer[T]):
    """Trusts stored objects not to change."""

    def _drop(self, key: str) -> None:
        if key in self._items:
            self._values[key] = self._values_of(key, self._items[key], self._indexers)
        super()._drop(key)


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return StaleAfterMutation(key_func, indexers, semantics)
