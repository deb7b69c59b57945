"""A read-write lock whose readers enter under the lock, but leave without it: the count goes down unprotected.

Entering has something to check, leaving has not; but `-= 1` is a load and a store, and what another thread stores in
between is lost. Source: plausible. Broken by two threads: T1 leaves a get_by_key and has loaded 1; T2's by_index enters
and makes it 2; T1 stores 0, and its next call, an update, finds no reader inside. Two readers that leave at the same
time break it too: the count stays at 1, and the next write waits for ever. Betrayed by either.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from looping_read_write_lock import LoopingReadWriteLock, LoopingReadWriteLocked

from kcache import Indexer, Indexers, KeyFunc


class UnlockedReaderCount(LoopingReadWriteLock):
    """Takes the lock to wake others up, after the fact."""

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._changed:
            while self._writer_inside:
                self._changed.wait()
            self._readers += 1
        try:
            yield
        finally:
            self._readers -= 1
            with self._changed:
                self._changed.notify_all()


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return LoopingReadWriteLocked(key_func, indexers, semantics, UnlockedReaderCount())
