"""add_indexers and get_indexers do not take the lock.

Index functions are set up before the first object comes, by one thread, so they seem to need none; a program that adds
them from several controllers does need it. Source: kubernetes#133788. Betrayed by get_indexers, which sees some of the
names of one add_indexers, by two add_indexers with the same name that both succeed, or by an object added in between,
which is in no index.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class UnlockedIndexers(TextbookIndexer[T]):
    """Guards the objects, not the set-up."""

    def get_indexers(self) -> Indexers[T]:
        return dict(self._indexers)

    def add_indexers(self, new_indexers: Indexers[T], /) -> None:
        added = dict(new_indexers)
        self._check_new(added)
        values = {key: self._values_of(key, obj, added) for key, obj in list(self._items.items())}
        for name, func in added.items():
            self._extend({name: func}, {key: {name: indexed[name]} for key, indexed in values.items()})


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return UnlockedIndexers(key_func, indexers, semantics)
