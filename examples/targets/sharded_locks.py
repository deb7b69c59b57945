"""Objects are spread over several shards by their keys; each shard has its own lock and its own indices.

Correct. A call about one key holds the lock of that key's shard; any other call holds the locks of all shards, from
before its first look to after its last. So two calls that touch the same shard never overlap, and a call takes effect
at any moment while it holds all of its locks. They are always taken in the same order: no deadlock, as long as key and
index functions do not call the store.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Generic, TypeVar

from textbook import TextbookIndexer, Values, key_of

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")

_SHARDS = 4


class Shard(TextbookIndexer[T]):
    """A textbook Indexer with its steps made public. Its own calls take its lock again, which is re-entrant."""

    def hold(self, stack: ExitStack) -> None:
        stack.enter_context(self._lock)

    def size(self) -> int:
        return len(self._items)

    def put(self, key: str, obj: T) -> None:
        with self._lock:
            self._put(key, obj, self._values_of(key, obj, self._indexers))

    def drop(self, key: str) -> None:
        with self._lock:
            self._drop(key)

    def prepare(self, items: dict[str, T]) -> dict[str, Values]:
        return {key: self._values_of(key, obj, self._indexers) for key, obj in items.items()}

    def fill(self, items: dict[str, T], values: dict[str, Values]) -> None:
        self._fill(items, values)

    def check_new(self, added: Indexers[T]) -> None:
        self._check_new(added)

    def prepare_new(self, added: Indexers[T]) -> dict[str, Values]:
        return {key: self._values_of(key, obj, added) for key, obj in self._items.items()}

    def extend(self, added: Indexers[T], values: dict[str, Values]) -> None:
        self._extend(added, values)


class ShardedIndexer(Generic[T]):
    """Writers of different keys mostly do not wait for each other."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        self._key_func = key_func
        self._shards = [Shard(key_func, indexers, semantics) for _ in range(_SHARDS)]

    def add(self, obj: T, /) -> None:
        key = key_of(self._key_func, obj)
        self._shard_of(key).put(key, obj)

    def update(self, obj: T, /) -> None:
        self.add(obj)

    def delete(self, obj: T, /) -> None:
        key = key_of(self._key_func, obj)
        self._shard_of(key).drop(key)

    def replace(self, objs: Iterable[T], _resource_version: str = "", /) -> None:
        items = {key_of(self._key_func, obj): obj for obj in objs}
        parts: builtins.list[dict[str, T]] = [{} for _ in self._shards]
        for key, obj in items.items():
            parts[_number(key)][key] = obj
        with self._all():
            prepared = [shard.prepare(part) for shard, part in zip(self._shards, parts, strict=True)]
            for shard, part, values in zip(self._shards, parts, prepared, strict=True):
                shard.fill(part, values)

    def resync(self) -> None:
        """Nothing to do."""

    def get(self, obj: T, default: Any = None) -> Any:
        return self.get_by_key(key_of(self._key_func, obj), default)

    def get_by_key(self, key: str, default: Any = None) -> Any:
        return self._shard_of(key).get_by_key(key, default)

    def list(self) -> builtins.list[T]:
        with self._all():
            return [obj for shard in self._shards for obj in shard.list()]

    def list_keys(self) -> builtins.list[str]:
        with self._all():
            return [key for shard in self._shards for key in shard.list_keys()]

    def index(self, index_name: str, obj: T, /) -> builtins.list[T]:
        with self._all():
            return [found for shard in self._shards for found in shard.index(index_name, obj)]

    def index_keys(self, index_name: str, index_value: str, /) -> builtins.list[str]:
        with self._all():
            return sorted(key for shard in self._shards for key in shard.index_keys(index_name, index_value))

    def by_index(self, index_name: str, index_value: str, /) -> builtins.list[T]:
        with self._all():
            return [obj for shard in self._shards for obj in shard.by_index(index_name, index_value)]

    def list_index_func_values(self, index_name: str, /) -> builtins.list[str]:
        with self._all():
            return list({value: None for shard in self._shards for value in shard.list_index_func_values(index_name)})

    def get_indexers(self) -> Indexers[T]:
        with self._all():
            return self._shards[0].get_indexers()

    def add_indexers(self, new_indexers: Indexers[T], /) -> None:
        added = dict(new_indexers)
        with self._all():
            max(self._shards, key=Shard.size).check_new(added)  # if any shard holds objects, the largest does
            prepared = [shard.prepare_new(added) for shard in self._shards]
            for shard, values in zip(self._shards, prepared, strict=True):
                shard.extend(added, values)

    def _shard_of(self, key: str) -> Shard[T]:
        return self._shards[_number(key)]

    @contextmanager
    def _all(self) -> Iterator[None]:
        with ExitStack() as stack:
            for shard in self._shards:
                shard.hold(stack)
            yield


def _number(key: str) -> int:
    """The number of the key's shard; unlike `hash`, it is the same in every process."""
    return sum(map(ord, key)) % _SHARDS


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return ShardedIndexer(key_func, indexers, semantics)
