"""A read-write lock that counts its readers after they have passed the gate, and without protection.

A writer keeps the gate closed while it is inside, so a reader that got through may enter; but the writer that comes
between the gate and the counting does not know of it. Source: plausible; written whenever a language has no such lock.
Betrayed by by_index, which runs while a writer changes the index: a KeyError, or a result of two states.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class LeakyReadWriteLock:
    """Means to let in any number of readers, or one writer."""

    def __init__(self) -> None:
        self._gate = threading.Condition()
        self._readers = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._gate:
            pass  # no writer is inside
        self._readers += 1
        try:
            yield
        finally:
            self._readers -= 1
            with self._gate:
                self._gate.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        with self._gate:
            self._gate.wait_for(lambda: self._readers == 0)
            yield


class LeakyReadWriteLocked(TextbookIndexer[T]):
    """The textbook under that lock."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        super().__init__(key_func, indexers, semantics)
        self._shared = LeakyReadWriteLock()

    def _reading(self) -> AbstractContextManager[object]:
        return self._shared.reading()

    def _writing(self) -> AbstractContextManager[object]:
        return self._shared.writing()


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return LeakyReadWriteLocked(key_func, indexers, semantics)
