"""A sequence lock whose readers check that no write is going on, but not that none has begun since.

The first check is the one that comes to mind; the second one, after reading, is what makes the result valid. Source:
plausible; half of the algorithm. Betrayed by a lookup that runs into a write: a KeyError, or a result of two states.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sequence_lock import SequenceLockIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")
R = TypeVar("R")


class TornSequenceLock(SequenceLockIndexer[T]):
    """Looks before it leaps, and never back."""

    def _read(self, look: Callable[[], R]) -> R:
        if self._begun == self._ended:
            return look()
        with self._lock:
            return look()


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return TornSequenceLock(key_func, indexers, semantics)
