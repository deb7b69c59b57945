"""Copy-on-write with optimistic writers: make a new snapshot, publish it if the old one still holds, else start again.

Correct. A read takes effect when it loads the attribute with the current snapshot, a write when it stores that
attribute; the lock makes one step of the look at the current snapshot and the store, so no write is lost. Whenever one
starts again another has succeeded. Index functions run without any lock, possibly more than once for a write. The twin
`unlocked_swap` looks and stores in two steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from copy_on_write import CopyOnWriteIndexer, Snapshot
from textbook import key_of, values_of

from kcache import Indexer, IndexerConflictError, Indexers, IndexersRunningError, KeyFunc, Semantics

T = TypeVar("T")


class CompareAndSwapIndexer(CopyOnWriteIndexer[T]):
    """Holds its lock for two instructions."""

    def add(self, obj: T, /) -> None:
        key = key_of(self._key_func, obj)
        self._change(lambda now: now.with_object(key, obj, values_of(key, obj, now.indexers)))

    def delete(self, obj: T, /) -> None:
        key = key_of(self._key_func, obj)
        self._change(lambda now: now.without(key))

    def replace(self, objs: Iterable[T], _resource_version: str = "", /) -> None:
        items = {key_of(self._key_func, obj): obj for obj in objs}

        def with_items(now: Snapshot[T]) -> Snapshot[T]:
            values = {key: values_of(key, obj, now.indexers) for key, obj in items.items()}
            return Snapshot.of(now.indexers, items, values)

        self._change(with_items)

    def add_indexers(self, new_indexers: Indexers[T], /) -> None:
        added = dict(new_indexers)

        def with_added(now: Snapshot[T]) -> Snapshot[T]:
            if now.items and self._semantics is Semantics.CLASSIC:
                raise IndexersRunningError
            if conflicts := added.keys() & now.indexers.keys():
                raise IndexerConflictError(conflicts)
            values = {key: {**now.values[key], **values_of(key, obj, added)} for key, obj in now.items.items()}
            return Snapshot.of({**now.indexers, **added}, now.items, values)

        self._change(with_added)

    def _change(self, make: Callable[[Snapshot[T]], Snapshot[T]]) -> None:
        while True:
            now = self._snapshot
            if self._swapped(now, make(now)):
                return

    def _swapped(self, expected: Snapshot[T], new: Snapshot[T]) -> bool:
        with self._lock:
            if self._snapshot is not expected:
                return False
            self._snapshot = new
            return True


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return CompareAndSwapIndexer(key_func, indexers, semantics)
