"""list keeps its result together with the version of the store, and serves it until the version is another one.

Correct. A write counts the version up before it gives the lock back, and the kept result was copied and its version
read in one section of the lock. So a list that finds its kept version to be the current one takes effect at that look:
no write has ended since the copy, and one that is going on takes effect later. The twins are `version_read_late` and
`version_counted_late`.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class VersionedListIndexer(TextbookIndexer[T]):
    """Copies the objects once for each version."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        super().__init__(key_func, indexers, semantics)
        self._version = 0
        self._kept: tuple[int, builtins.list[T]] = (0, [])

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            finally:
                self._version += 1

    def list(self) -> builtins.list[T]:
        version, objs = self._kept
        if version != self._version:
            version, objs = self._kept = self._copied()
        return list(objs)

    def _copied(self) -> tuple[int, builtins.list[T]]:
        with self._reading():
            return self._version, super().list()


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return VersionedListIndexer(key_func, indexers, semantics)
