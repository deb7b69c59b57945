"""add_indexers checks in one section of the lock that the names are new, and adds them in the next.

Source: plausible; check, then act, with each half well protected. Broken by T1's add_indexers and T2's add_indexers of
the same name, both checked before either has added. Betrayed by both calls returning where one must raise; in classic
semantics also by an object that was stored in between, which should have made the call raise.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class ClashCheckedOutside(TextbookIndexer[T]):
    """Checks as a reader, adds as a writer."""

    def add_indexers(self, new_indexers: Indexers[T], /) -> None:
        added = dict(new_indexers)
        with self._reading():
            self._check_new(added)
        with self._writing():
            self._extend(added, {key: self._values_of(key, obj, added) for key, obj in self._items.items()})


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return ClashCheckedOutside(key_func, indexers, semantics)
