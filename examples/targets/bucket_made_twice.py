"""The sets of the indices are made on demand, under a lock of their own, but nobody looks again once it has the lock.

Two threads that do not find a set make one each, one after the other; the second replaces the first. Source: plausible;
double-checked locking with one check. Broken by T1's add, which finds no set for its value; T2's add of another key
with that value, from beginning to end; T1 makes the set again. Betrayed by by_index afterwards: the object of T2 is
missing for good. The correct twin is `lazy_buckets`.
"""

from __future__ import annotations

from typing import Any, TypeVar

from lazy_buckets import LazyBucketsIndexer
from textbook import Index

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class BucketMadeTwice(LazyBucketsIndexer[T]):
    """Makes sets one after the other, but not once."""

    def _bucket(self, index: Index, value: str) -> set[str]:
        bucket = index.get(value)
        if bucket is None:
            with self._making:
                bucket = index[value] = set()
        return bucket


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return BucketMadeTwice(key_func, indexers, semantics)
