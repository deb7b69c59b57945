"""A writer takes the lock, so that no new readers come, and then waits for those inside to leave.

But leaving takes the same lock: a reader inside cannot say that it has gone. A condition would give the lock up while
it waits, an event does not. Source: plausible; known as nested monitor lockout. Broken by T2's by_index, inside; T1's
update, which takes the lock and waits for T2. Betrayed by a deadlock of any lookup and any write.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class WaitsWithLockHeld(TextbookIndexer[T]):
    """Counts its readers, and has an event for when there is none."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        super().__init__(key_func, indexers, semantics)
        self._entrance = threading.Lock()
        self._readers = 0
        self._empty = threading.Event()
        self._empty.set()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._entrance:
            self._readers += 1
            self._empty.clear()
        try:
            yield
        finally:
            with self._entrance:
                self._readers -= 1
                if not self._readers:
                    self._empty.set()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._entrance:
            self._empty.wait()
            yield


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return WaitsWithLockHeld(key_func, indexers, semantics)
