"""Twelve variants of the simple store with one bug each; each factory is named after its bug."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from simple_store import UNSUPPORTED, SimpleStore


class UnlockedAdd(SimpleStore):
    """Writes without the lock."""

    def add(self, obj: Any) -> None:
        self._store(self._key_func(obj), obj)


class ObjectsOutsideLock(SimpleStore):
    """Finds the keys under the lock, and the objects after it."""

    def by_index(self, index_name: str, value: str) -> builtins.list[Any]:
        with self._lock:
            keys = sorted(self._indices[index_name].get(value, ()))
        return [self._items[key] for key in keys]


class ObjectsOneByOne(SimpleStore):
    """The same with one more critical section for each object: free of data races."""

    def by_index(self, index_name: str, value: str) -> builtins.list[Any]:
        return [self.get_by_key(key) for key in self.index_keys(index_name, value)]


class ReplaceInTwoSections(SimpleStore):
    """First the objects, then the index."""

    def replace(self, objs: Iterable[Any], _resource_version: str = "") -> None:
        items = {self._key_func(obj): obj for obj in objs}
        with self._lock:
            self._items = items
        with self._lock:
            self._rebuild()


class DeleteInTwoSections(SimpleStore):
    """What it found may be another object when it is removed."""

    def delete(self, obj: Any) -> None:
        key = self._key_func(obj)
        old = self.get_by_key(key)
        with self._lock:
            self._unlink(key, old)
            self._items.pop(key, None)


class CheckedOnce(SimpleStore):
    """Looks for the set of keys outside the lock and makes one inside, without a second look."""

    def add(self, obj: Any) -> None:
        key = self._key_func(obj)
        missing = [
            (name, value)
            for name, func in self._indexers.items()
            for value in func(obj)
            if value not in self._indices[name]
        ]
        with self._lock:
            for name, value in missing:
                self._indices[name][value] = set()
            self._store(key, obj)


class LockOrder(SimpleStore):
    """Two locks, taken in either order."""

    def __init__(self, key_func: Any, indexers: Any) -> None:
        super().__init__(key_func, indexers)
        self._index_lock = threading.Lock()

    def add(self, obj: Any) -> None:
        key = self._key_func(obj)
        with self._lock, self._index_lock:
            self._store(key, obj)

    def by_index(self, index_name: str, value: str) -> builtins.list[Any]:
        with self._index_lock:
            keys = sorted(self._indices[index_name].get(value, ()))
            with self._lock:
                return [self._items[key] for key in keys]


class BrokenReadWriteLock(SimpleStore):
    """A writer that was woken does not look again whether there are readers."""

    def __init__(self, key_func: Any, indexers: Any) -> None:
        super().__init__(key_func, indexers)
        self._changed = threading.Condition(threading.Lock())
        self._readers = 0
        self._writing = False

    def add(self, obj: Any) -> None:
        key = self._key_func(obj)
        with self._changed:
            if self._writing or self._readers:
                self._changed.wait()
            self._writing = True
        self._store(key, obj)
        with self._changed:
            self._writing = False
            self._changed.notify_all()

    def by_index(self, index_name: str, value: str) -> builtins.list[Any]:
        with self._changed:
            while self._writing:
                self._changed.wait()
            self._readers += 1
        try:
            return [self._items[key] for key in sorted(self._indices[index_name].get(value, ()))]
        finally:
            with self._changed:
                self._readers -= 1
                if not self._readers:
                    self._changed.notify_all()


class LostWakeup(SimpleStore):
    """A lock of its own: the release may come between the look at it and the wait."""

    def __init__(self, key_func: Any, indexers: Any) -> None:
        super().__init__(key_func, indexers)
        self._freed = threading.Condition(threading.Lock())
        self._taken = False

    @contextmanager
    def _alone(self) -> Iterator[None]:
        while True:
            with self._freed:
                if not self._taken:
                    self._taken = True
                    break
            with self._freed:
                self._freed.wait()
        try:
            yield
        finally:
            with self._freed:
                self._taken = False
                self._freed.notify()

    def add(self, obj: Any) -> None:
        key = self._key_func(obj)
        with self._alone():
            self._store(key, obj)


class UnlockedList(SimpleStore):
    """Objects may go while it lists them."""

    def list(self) -> builtins.list[Any]:
        return [self._items[key] for key in list(self._items)]


class LiveKeys(SimpleStore):
    """Takes the dict under the lock, and walks through it after that."""

    def list_keys(self) -> builtins.list[str]:
        with self._lock:
            items = self._items
        return [key for key in items]  # noqa: C416


class ClearedFirst(SimpleStore):
    """``get_by_key`` takes no lock, and ``replace`` empties the store before it fills it."""

    def get_by_key(self, key: str, default: Any = None) -> Any:
        return self._items.get(key, default)

    def replace(self, objs: Iterable[Any], _resource_version: str = "") -> None:
        items = {self._key_func(obj): obj for obj in objs}
        with self._lock:
            self._items.clear()
            self._items.update(items)
            self._rebuild()


def _factory(store: type[SimpleStore]) -> Any:
    def new_indexer(key_func: Any, indexers: Any, semantics: str = "classic") -> Any:
        del semantics
        return store(key_func, indexers)

    new_indexer.kcache_unsupported = UNSUPPORTED  # type: ignore[attr-defined]
    return new_indexer


unlocked_add = _factory(UnlockedAdd)
objects_outside_lock = _factory(ObjectsOutsideLock)
objects_one_by_one = _factory(ObjectsOneByOne)
replace_in_two_sections = _factory(ReplaceInTwoSections)
delete_in_two_sections = _factory(DeleteInTwoSections)
checked_once = _factory(CheckedOnce)
lock_order = _factory(LockOrder)
broken_read_write_lock = _factory(BrokenReadWriteLock)
lost_wakeup = _factory(LostWakeup)
unlocked_list = _factory(UnlockedList)
live_keys = _factory(LiveKeys)
cleared_first = _factory(ClearedFirst)
