"""list walks over the live dict without taking the lock.

"Only reading" needs no lock, people say, and `list(d.values())` is even one atomic step in CPython; a loop with a
condition in it is not. Source: plausible. Betrayed by "dictionary changed size during iteration", or by a list that
shows one of two writes and not the one before it.
"""

from __future__ import annotations

import builtins
from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class UnlockedList(TextbookIndexer[T]):
    """Locks for writing only."""

    def list(self) -> builtins.list[T]:
        return [obj for obj in self._items.values() if obj is not None]


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return UnlockedList(key_func, indexers, semantics)
