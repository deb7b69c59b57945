"""A write changes the store, gives the lock back, and then counts the version up that tells list to copy again.

What is kept is out of date from the change on, but marked so only a little later; reads that do not go through the kept
copy see the change already. Source: plausible; invalidation after the commit. Broken after add and list by T1's update
between its two sections, and T2's get_by_key, which finds the new object, followed by its list, which returns the old
one. Betrayed by two reads of one thread that go back in time. The correct twin is `versioned_list`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from versioned_list import VersionedListIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class VersionCountedLate(VersionedListIndexer[T]):
    """Counts under the lock, though not under the same one."""

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self._lock:
                yield
        finally:
            with self._lock:
                self._version += 1


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return VersionCountedLate(key_func, indexers, semantics)
