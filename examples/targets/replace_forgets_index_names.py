"""replace empties the indices together with their names, which come back with the next object only.

One assignment empties the whole structure, so it is written instead of a loop over the indices. Source:
fabric8io/kubernetes-client#3272. Betrayed by any lookup after replace([]): it says that there is no such index.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import TextbookIndexer, Values

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class ReplaceForgetsIndexNames(TextbookIndexer[T]):
    """Has an index from its first object on."""

    def _fill(self, items: dict[str, T], values: dict[str, Values]) -> None:
        self._items = items
        self._values = {}
        self._indices = {}
        for key in items:
            self._link(key, values[key])

    def _link(self, key: str, values: Values) -> None:
        for name in values:
            self._indices.setdefault(name, {})
        super()._link(key, values)


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return ReplaceForgetsIndexNames(key_func, indexers, semantics)
