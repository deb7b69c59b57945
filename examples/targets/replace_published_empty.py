"""get and get_by_key read without the lock, and replace publishes a new dict before it has filled it.

replace is one section of the lock, so all readers that take the lock see it as one step; the others see the dict grow.
Source: plausible; assign, then fill, is how `__init__` does it. Broken after add by T1's replace with a new object of
that key, which has assigned the dict, and T2's get_by_key. Betrayed by get_by_key, which misses an object that is
stored before and after. The correct twin is `lock_free_get`.
"""

from __future__ import annotations

from typing import Any, TypeVar

from lock_free_get import LockFreeGetIndexer
from textbook import Values

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class ReplacePublishedEmpty(LockFreeGetIndexer[T]):
    """Starts over and adds."""

    def _fill(self, items: dict[str, T], values: dict[str, Values]) -> None:
        super()._fill({}, {})
        for key, obj in items.items():
            self._put(key, obj, values[key])


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return ReplacePublishedEmpty(key_func, indexers, semantics)
