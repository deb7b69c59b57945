"""A sequence lock whose writer counts its write when it is done, not when it begins.

The number tells finished states apart, as a version does; but readers use it to learn that the store stood still, and
during the write it stands still itself. Source: plausible. Broken by T1's update, which has removed the old object, and
T2's by_index or get_by_key from beginning to end meanwhile. Betrayed by a read that misses an object which is stored
all the time, or raises a KeyError.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from sequence_lock import SequenceLockIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class LateSequenceNumber(SequenceLockIndexer[T]):
    """Announces what has happened, not what will."""

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            finally:
                self._begun += 1
                self._ended += 1


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return LateSequenceNumber(key_func, indexers, semantics)
