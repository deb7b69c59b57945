"""A sequence lock whose readers check that no write has begun since, but not that none was going on already.

The other half of `torn_sequence_lock`: the same number before and after means that nothing began in between, yet what
began before may not have ended. Source: plausible; readers that forget to look whether the number is odd. Broken by
T1's update, begun; T2's by_index from beginning to end; both numbers are 1. Betrayed by a lookup that starts during a
write: a KeyError, or a result of two states.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sequence_lock import SequenceLockIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")
R = TypeVar("R")

_ATTEMPTS = 3


class OddSequenceAccepted(SequenceLockIndexer[T]):
    """Looks back, but not before it leaps."""

    def _read(self, look: Callable[[], R]) -> R:
        for _ in range(_ATTEMPTS):
            begun = self._begun
            try:
                found = look()
            except Exception:
                if self._begun == begun:
                    raise
            else:
                if self._begun == begun:
                    return found
        with self._lock:
            return look()


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return OddSequenceAccepted(key_func, indexers, semantics)
