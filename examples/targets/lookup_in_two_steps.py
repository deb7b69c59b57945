"""by_index is made of two calls, each of which holds the lock for itself: first the keys, then the objects.

Both calls exist and are safe, and two safe calls look safe together. Source: kubernetes#141736, a cache on top of an
Indexer. Betrayed by by_index while another thread writes: it returns an object that has another value by now, or
misses one that had the value all the time.
"""

from __future__ import annotations

import builtins
from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")

_GONE = object()


class LookupInTwoSteps(TextbookIndexer[T]):
    """Composes a lookup of public calls."""

    def by_index(self, index_name: str, index_value: str, /) -> builtins.list[T]:
        found = [self.get_by_key(key, _GONE) for key in self.index_keys(index_name, index_value)]
        return [obj for obj in found if obj is not _GONE]


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return LookupInTwoSteps(key_func, indexers, semantics)
