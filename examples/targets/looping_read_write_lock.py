"""A read-write lock on one condition, waited for in loops: readers share it, a writer has it alone.

Correct. Whoever wakes looks again before it enters, so it does not matter who was woken, why, and what happened since;
and whoever leaves wakes all, so nobody sleeps who could enter. A call takes effect at any one moment while it is
inside. The twin `if_before_wait` looks only once. Readers may keep a writer out for long; key and index functions must
not call the store.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class LoopingReadWriteLock:
    """Any number of readers, or one writer."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = 0
        self._writer_inside = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._changed:
            while self._writer_inside:
                self._changed.wait()
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        with self._changed:
            while self._writer_inside or self._readers:
                self._changed.wait()
            self._writer_inside = True
        try:
            yield
        finally:
            with self._changed:
                self._writer_inside = False
                self._changed.notify_all()


class LoopingReadWriteLocked(TextbookIndexer[T]):
    """The textbook under that lock, or under one derived from it."""

    def __init__(
        self,
        key_func: KeyFunc[T],
        indexers: Indexers[T],
        semantics: str = "classic",
        shared: LoopingReadWriteLock | None = None,
    ) -> None:
        super().__init__(key_func, indexers, semantics)
        self._shared = shared or LoopingReadWriteLock()

    def _reading(self) -> AbstractContextManager[object]:
        return self._shared.reading()

    def _writing(self) -> AbstractContextManager[object]:
        return self._shared.writing()


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return LoopingReadWriteLocked(key_func, indexers, semantics)
