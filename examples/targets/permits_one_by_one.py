"""A semaphore with some permits: a reader takes one, a writer all of them, one by one.

A semaphore cannot be asked for several permits at once, so a loop takes them; but two loops may each get some, and then
each waits for those of the other. Source: plausible; semaphores as read-write locks are known for it. Broken by T1's
add and T2's add, each with at least one permit. Betrayed by a deadlock of two writes.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, TypeVar

from permits import PermitsIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class PermitsOneByOne(PermitsIndexer[T]):
    """Writers collect at the same time."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        super().__init__(key_func, indexers, semantics)
        self._collecting = nullcontext()


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return PermitsOneByOne(key_func, indexers, semantics)
