"""A write computes the index values under a read lock, and then waits until it is the only reader left.

So index functions, which may be slow, do not keep readers out, and nothing can change between the two halves. But two
writers may both hold the read lock, and each waits for the other to give it up. Source: plausible; read locks that can
be upgraded are known for it. Betrayed by a deadlock of two writes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class UpgradedReadLock(TextbookIndexer[T]):
    """Reads first, then upgrades; nobody comes in while the condition's lock is held."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        super().__init__(key_func, indexers, semantics)
        self._changed = threading.Condition()
        self._readers = 0

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._changed:
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def _upgraded(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: self._readers == 1)
            yield

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._reading(), self._upgraded():
            yield

    def add(self, obj: T, /) -> None:
        key = self._key_of(obj)
        with self._reading():
            values = self._values_of(key, obj, self._indexers)
            with self._upgraded():
                self._put(key, obj, values)


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return UpgradedReadLock(key_func, indexers, semantics)
