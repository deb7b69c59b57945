"""The store exists twice; a writer changes the side without readers, sends readers there, and then changes the other.

Nobody comes to that side any more; but somebody may still be there. Source: plausible; double buffers forget the last
reader. Broken by T2's by_index, which has found its side and stands in it; T1's update, which sends later readers away,
and begins to change the side of T2. Betrayed by a lookup that runs into a write: it misses an object that is stored all
the time, or raises a KeyError. The correct twin is `left_right`.
"""

from __future__ import annotations

from typing import Any, TypeVar

from left_right import LeftRightIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class LeftRightWithoutWaiting(LeftRightIndexer[T]):
    """Counts its readers for nothing."""

    def _wait_until_empty(self, side: int) -> None:
        pass


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return LeftRightWithoutWaiting(key_func, indexers, semantics)
