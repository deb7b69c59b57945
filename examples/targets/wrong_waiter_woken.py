"""A read-write lock that prefers writers, with one condition for both kinds, and wakes one sleeper instead of all.

A reader that is woken while a writer waits goes back to sleep, and the wake-up that was meant for the writer is spent.
Source: plausible; notify where it must be notify_all. Needs three threads: two must sleep for the wrong one to be
woken, and a third must leave. Broken by T1's add, inside; T2's list, asleep first; T3's add, asleep second; T1 leaves
and wakes T2. Betrayed by two calls that never return.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from looping_read_write_lock import LoopingReadWriteLock, LoopingReadWriteLocked

from kcache import Indexer, Indexers, KeyFunc


class WritersFirst(LoopingReadWriteLock):
    """Lets no reader in while a writer waits."""

    def __init__(self) -> None:
        super().__init__()
        self._writers_waiting = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._changed:
            while self._writer_inside or self._writers_waiting:
                self._changed.wait()
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify()

    @contextmanager
    def writing(self) -> Iterator[None]:
        with self._changed:
            self._writers_waiting += 1
            while self._writer_inside or self._readers:
                self._changed.wait()
            self._writers_waiting -= 1
            self._writer_inside = True
        try:
            yield
        finally:
            with self._changed:
                self._writer_inside = False
                self._changed.notify()


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return LoopingReadWriteLocked(key_func, indexers, semantics, WritersFirst())
