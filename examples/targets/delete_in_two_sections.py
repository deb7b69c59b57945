"""delete takes the object out, gives the lock back, and then takes it again to clean up the indices.

Lookups pass over keys without an object, so nobody sees the difference; but the key may have an object again by then.
Source: plausible; cleaning up in the background. Broken after add by T1's delete between its two sections, and T2's add
of the same key with the same value, from beginning to end; T1 removes the entry that T2 relies on. Betrayed by by_index
afterwards: the new object is missing for good.
"""

from __future__ import annotations

import builtins
from typing import Any, TypeVar

from textbook import Index, TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class DeleteInTwoSections(TextbookIndexer[T]):
    """Remembers what to clean up."""

    def delete(self, obj: T, /) -> None:
        key = self._key_of(obj)
        with self._writing():
            self._items.pop(key, None)
            before = self._values.pop(key, {})
        with self._writing():
            for name, values in before.items():
                for value in values:
                    self._leave(self._indices[name], value, key)

    def list_index_func_values(self, index_name: str, /) -> builtins.list[str]:
        with self._reading():
            return list(self._existing(index_name)) if index_name in self._indices else []

    def _existing(self, index_name: str) -> Index:
        living = {value: keys & self._items.keys() for value, keys in super()._existing(index_name).items()}
        return {value: keys for value, keys in living.items() if keys}


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return DeleteInTwoSections(key_func, indexers, semantics)
