"""A read-write lock that looks whether it must wait, waits, and then enters without looking again.

Between the notification and the moment when the sleeper runs again anybody may have entered. Source: plausible; `if`
where it must be `while`, the classic mistake with conditions. Broken by two threads: T2's by_index waits for T1's
update; T1 leaves, notifies, and enters again with its second update before T2 runs; T2 walks in. Betrayed by a lookup
that runs into a write: a KeyError, or a result of two states.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from looping_read_write_lock import LoopingReadWriteLock, LoopingReadWriteLocked

from kcache import Indexer, Indexers, KeyFunc


class HastyReadWriteLock(LoopingReadWriteLock):
    """Believes that what it was woken for still holds."""

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._changed:
            if self._writer_inside:
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
            if self._writer_inside or self._readers:
                self._changed.wait()
            self._writer_inside = True
        try:
            yield
        finally:
            with self._changed:
                self._writer_inside = False
                self._changed.notify_all()


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return LoopingReadWriteLocked(key_func, indexers, semantics, HastyReadWriteLock())
