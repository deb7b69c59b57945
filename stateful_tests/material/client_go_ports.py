"""client-go's store in Python, line by line, in its two generations: right by client-go's measure, so never accused.

What both do as client-go does: index functions run under the lock and are asked again about the object that is
replaced; the caller's map of index functions is theirs, and ``get_indexers`` hands it out; an index function that fails
leaves the new object stored, and indices half updated. That is declared, for there the process dies.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

Buckets = dict[str, set[str]]


class ThreadSafeStore:
    """What both generations share.

    Args:
        key_func: object -> key.
        indexers: index name -> index function.
    """

    kcache_unsupported: tuple[str, ...] = ("failing_functions",)

    def __init__(self, key_func: Callable[[Any], str], indexers: dict[str, Callable[[Any], Any]]) -> None:
        self._key_func = key_func
        self._lock = threading.RLock()
        self._items: dict[str, Any] = {}
        self._indexers = indexers
        self._indices: dict[str, Buckets] = {}

    def add(self, obj: Any) -> None:
        """As update."""
        self.update(obj)

    def update(self, obj: Any) -> None:
        """Stores the object first, then updates the indices."""
        key = self._key_func(obj)
        with self._lock:
            old = self._items.get(key)
            self._items[key] = obj
            self._update_indices(old, obj, key)

    def delete(self, obj: Any) -> None:
        """Takes the key out of the indices first, as the stored object has it."""
        key = self._key_func(obj)
        with self._lock:
            if key in self._items:
                self._update_indices(self._items[key], None, key)
                del self._items[key]

    def replace(self, objs: list[Any], _resource_version: str = "") -> None:
        """Keys are computed before anything is changed."""
        items = {self._key_func(obj): obj for obj in objs}
        with self._lock:
            self._items = items
            self._indices = {}
            for key, obj in items.items():
                self._update_indices(None, obj, key)

    def get(self, obj: Any, default: Any = None) -> Any:
        """The object under the key of this one."""
        return self.get_by_key(self._key_func(obj), default)

    def get_by_key(self, key: str, default: Any = None) -> Any:
        """The object under a key."""
        with self._lock:
            return self._items.get(key, default)

    def list(self) -> list[Any]:
        """All objects."""
        with self._lock:
            return list(self._items.values())

    def list_keys(self) -> list[str]:  # type: ignore[valid-type]
        """All keys."""
        with self._lock:
            return [*self._items]

    def index(self, name: str, obj: Any) -> list[Any]:  # type: ignore[valid-type]
        """The objects that share a value with this one."""
        with self._lock:
            values = self._function(name)(obj) or ()
            buckets = self._indices.get(name, {})
            keys = {key for value in values for key in buckets.get(value, ())}
            return [self._items.get(key) for key in keys]

    def by_index(self, name: str, value: str) -> list[Any]:  # type: ignore[valid-type]
        """The objects under a value; ``None`` for a key that is left over."""
        with self._lock:
            self._function(name)
            return [self._items.get(key) for key in self._indices.get(name, {}).get(value, ())]

    def index_keys(self, name: str, value: str) -> list[str]:  # type: ignore[valid-type]
        """The keys under a value, sorted."""
        with self._lock:
            self._function(name)
            return sorted(self._indices.get(name, {}).get(value, ()))

    def list_index_func_values(self, name: str) -> list[str]:  # type: ignore[valid-type]
        """The values of an index."""
        with self._lock:
            return [*self._indices.get(name, {})]

    def get_indexers(self) -> dict[str, Callable[[Any], Any]]:
        """The live map, without the lock."""
        return self._indexers

    def resync(self) -> None:
        """Nothing."""

    def _function(self, name: str) -> Callable[[Any], Any]:
        if name not in self._indexers:
            raise KeyError(f"Index with name {name} does not exist")
        return self._indexers[name]

    def _refuse_conflict(self, new: dict[str, Callable[[Any], Any]]) -> None:
        conflict = sorted(self._indexers.keys() & new.keys())
        if conflict:
            raise ValueError(f"indexer conflict: {conflict}")

    def _update_indices(self, old: Any, new: Any, key: str) -> None:
        raise NotImplementedError


class StoreOf018(ThreadSafeStore):
    """v0.18 to v0.22: the entries of the old object go, then those of the new one come."""

    def add_indexers(self, new: dict[str, Callable[[Any], Any]]) -> None:
        """Only while the store is empty."""
        with self._lock:
            if self._items:
                raise RuntimeError("cannot add indexers to running index")
            self._refuse_conflict(new)
            self._indexers.update(new)

    def _update_indices(self, old: Any, new: Any, key: str) -> None:
        if old is not None:
            for name, function in self._indexers.items():
                buckets = self._indices.get(name, {})
                for value in function(old) or ():
                    _remove(buckets, value, key)
        if new is not None:
            for name, function in self._indexers.items():
                values = function(new) or ()
                buckets = self._indices.setdefault(name, {})
                for value in values:
                    buckets.setdefault(value, set()).add(key)


class StoreOf036(ThreadSafeStore):
    """From v0.24 on, with indexers that can be added at any time from v0.30 on: index by index, and a shortcut."""

    def add_indexers(self, new: dict[str, Callable[[Any], Any]]) -> None:
        """Indexes what is stored."""
        with self._lock:
            self._refuse_conflict(new)
            self._indexers.update(new)
            for key, obj in self._items.items():
                for name in new:
                    self._update_single_index(name, None, obj, key)

    def _update_indices(self, old: Any, new: Any, key: str) -> None:
        for name in self._indexers:
            self._update_single_index(name, old, new, key)

    def _update_single_index(self, name: str, old: Any, new: Any, key: str) -> None:
        before = [] if old is None else self._function(name)(old) or []
        after = [] if new is None else self._function(name)(new) or []
        if len(before) == 1 and len(after) == 1 and before[0] == after[0]:
            return
        buckets = self._indices.setdefault(name, {})
        for value in before:
            _remove(buckets, value, key)
        for value in after:
            buckets.setdefault(value, set()).add(key)


class NewestStore(StoreOf036):
    """v0.36: with bookmarks and the resource version of the last object that was written."""

    def __init__(self, key_func: Callable[[Any], str], indexers: dict[str, Callable[[Any], Any]]) -> None:
        super().__init__(key_func, indexers)
        self._version = ""

    def update(self, obj: Any) -> None:
        """Notes the version afterwards."""
        with self._lock:
            super().update(obj)
            self._note(obj)

    def delete(self, obj: Any) -> None:
        """Notes the version of what it was given, even if nothing is stored there."""
        with self._lock:
            super().delete(obj)
            self._note(obj)

    def replace(self, objs: list[Any], resource_version: str = "") -> None:
        """Notes the version of the list."""
        with self._lock:
            super().replace(objs)
            self._version = resource_version

    def bookmark(self, resource_version: str) -> None:
        """Notes the version."""
        with self._lock:
            self._version = resource_version

    def last_sync_resource_version(self) -> str:
        """The version noted last."""
        with self._lock:
            return self._version

    def _note(self, obj: Any) -> None:
        metadata = getattr(obj, "metadata", None)
        if metadata is not None:
            self._version = metadata.resource_version or ""


def _remove(buckets: Buckets, value: str, key: str) -> None:
    keys = buckets.get(value)
    if keys is not None:
        keys.discard(key)
        if not keys:
            del buckets[value]
