"""Callers that ask by_index for the same at the same time share one lookup, also one that has read the store already.

The lookup is under way until its caller has taken it off the table, and a write may come in between. Source: plausible;
Go programs do it with singleflight. Broken after add by T1's by_index, which has read the store; T2's update from
beginning to end; T2's by_index of the same value, which joins the first one and does not see its own update. Betrayed
by a lookup that returns an object from before its call. The correct twin is `shared_lookups`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, TypeVar

from shared_lookups import SharedLookupsIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class JoinedTooLate(SharedLookupsIndexer[T]):
    """Writes know nothing of lookups under way."""

    def _writing(self) -> AbstractContextManager[object]:
        return self._lock


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return JoinedTooLate(key_func, indexers, semantics)
