"""add_indexers makes the names known, builds the new indices without the lock, and then takes it again to install them.

Stores are large, and from the first section on writers compute the new values too. But what they enter into the indices
meanwhile is thrown away with them. Source: plausible. Broken by T1's add_indexers between its two sections, and T2's
add of an object with a value there, from beginning to end. Betrayed by by_index in the new index afterwards: the object
is missing; in current semantics also by lookups in between, which find nothing.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import Index, TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class IndexersInTwoSections(TextbookIndexer[T]):
    """Splits the long critical section."""

    def add_indexers(self, new_indexers: Indexers[T], /) -> None:
        added = dict(new_indexers)
        with self._writing():
            self._check_new(added)
            values = {key: self._values_of(key, obj, added) for key, obj in self._items.items()}
            self._extend(added, {})
        indices: dict[str, Index] = {name: {} for name in added}
        for key, indexed in values.items():
            for name, found in indexed.items():
                for value in found:
                    self._enter(indices[name], value, key)
        with self._writing():
            self._indices = {**self._indices, **indices}
            for key, indexed in values.items():
                self._values[key] = {**self._values.get(key, {}), **indexed}


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return IndexersInTwoSections(key_func, indexers, semantics)
