"""Copy-on-write with optimistic writers, whose compare-and-swap is a comparison and an assignment.

Processors do it in one instruction and many languages in one call; Python has none, and the `if` leaves only a very
small gap. Source: plausible. Broken by T1's add, which has compared; T2's add of another key, from beginning to end; T1
assigns. Betrayed by list after both have returned: the object of T2 is missing. The correct twin is `compare_and_swap`.
"""

from __future__ import annotations

from typing import Any, TypeVar

from compare_and_swap import CompareAndSwapIndexer
from copy_on_write import Snapshot

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class UnlockedSwap(CompareAndSwapIndexer[T]):
    """Retries, but does not notice every time that it must."""

    def _swapped(self, expected: Snapshot[T], new: Snapshot[T]) -> bool:
        if self._snapshot is not expected:
            return False
        self._snapshot = new
        return True


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return UnlockedSwap(key_func, indexers, semantics)
