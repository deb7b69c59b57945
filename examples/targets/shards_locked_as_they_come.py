"""replace on shards locks those of its new objects first, in the order in which the objects come, then all others.

Alone, each call gets all of its locks sooner or later; but the order depends on the data, and two calls may go round in
opposite directions. Source: plausible; the transfers between two accounts of every textbook. Broken by T1's replace
with one object, which has locked that one's shard, and T2's list, which has locked the shards before it. Betrayed by a
deadlock of replace and another replace, list or by_index. The correct twin is `sharded_locks`.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any, TypeVar

from sharded_locks import ShardedIndexer
from textbook import key_of

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class ShardsLockedAsTheyCome(ShardedIndexer[T]):
    """Holds each shard from the first object that belongs to it."""

    def replace(self, objs: Iterable[T], resource_version: str = "", /) -> None:
        with ExitStack() as stack:
            copy = []
            for obj in objs:
                self._shard_of(key_of(self._key_func, obj)).hold(stack)
                copy.append(obj)
            super().replace(copy, resource_version)


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return ShardsLockedAsTheyCome(key_func, indexers, semantics)
