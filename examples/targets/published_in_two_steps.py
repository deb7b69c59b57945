"""Copy-on-write with a lock for writers, but objects and indices are published one after the other.

Everything that is published is complete and never changes, only not at the same time. Source: plausible; the state
grows from one attribute to two. Broken by T1's update, which has published the new objects and not yet the indices, and
T2's by_index. Betrayed by a lookup during a write: it names an object that has another value by now, or raises a
KeyError.
"""

from __future__ import annotations

from typing import Any, TypeVar

from copy_on_write import CopyOnWriteIndexer, Snapshot

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class PublishedInTwoSteps(CopyOnWriteIndexer[T]):
    """Keeps the parts of the snapshot in attributes of their own."""

    @property
    def _snapshot(self) -> Snapshot[T]:
        return Snapshot(self._indexers, self._items, self._values, self._indices)

    @_snapshot.setter
    def _snapshot(self, new: Snapshot[T]) -> None:
        self._indexers = new.indexers
        self._items = new.items
        self._values = new.values
        self._indices = new.indices


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return PublishedInTwoSteps(key_func, indexers, semantics)
