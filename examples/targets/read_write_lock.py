"""A read-write lock: readers share it, a writer has it alone. Writers that wait go first.

Correct. A call takes effect at any one moment while it holds its side of the lock: a reader keeps every writer out, so
the store stands still, and a writer keeps everybody out. The counters are changed under the condition's own lock only.
The lock is not re-entrant: key and index functions must not call the store.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class ReadWriteLock:
    """Any number of readers, or one writer."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = 0
        self._writers_waiting = 0
        self._writer_inside = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._writer_inside and not self._writers_waiting)
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
            self._writers_waiting += 1
            try:
                self._changed.wait_for(lambda: not self._writer_inside and not self._readers)
                self._writer_inside = True
            finally:
                self._writers_waiting -= 1
                if not self._writer_inside:  # interrupted: readers must not wait for a writer that never comes
                    self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._writer_inside = False
                self._changed.notify_all()


class ReadWriteLockedIndexer(TextbookIndexer[T]):
    """The textbook under another lock."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        super().__init__(key_func, indexers, semantics)
        self._gate = ReadWriteLock()

    def _reading(self) -> AbstractContextManager[object]:
        return self._gate.reading()

    def _writing(self) -> AbstractContextManager[object]:
        return self._gate.writing()


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return ReadWriteLockedIndexer(key_func, indexers, semantics)
