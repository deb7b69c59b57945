"""list_index_func_values walks over the live index without taking the lock.

It came later than the other lookups and looks harmless, since it touches no object. Source: kubernetes PR #25141, which
added the missing lock. Betrayed by "dictionary changed size during iteration", or by a value that is missing while an
update moves the only object of that value in the index out and in again.
"""

from __future__ import annotations

import builtins
from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class UnlockedIndexValues(TextbookIndexer[T]):
    """Forgets the lock in one of the lookups."""

    def list_index_func_values(self, index_name: str, /) -> builtins.list[str]:
        return [value for value, keys in self._indices.get(index_name, {}).items() if keys]


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return UnlockedIndexValues(key_func, indexers, semantics)
