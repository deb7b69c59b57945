"""Targets that keep the two objects used last: a right one, and some that are wrong in what they do when one goes."""

from __future__ import annotations

import threading
from collections import OrderedDict


class Lru:
    """Right: what goes leaves its index entries with it."""

    kcache_unsupported = (
        "may_evict",
        "resync",
        "transaction",
        "bookmark",
        "last_sync_resource_version",
        "add_indexers",
    )
    size = 2

    def __init__(self, key_func, indexers):
        self._lock = threading.RLock()
        self._key_func, self._indexers = key_func, dict(indexers)
        self._objects = OrderedDict()
        self._entries = {name: {} for name in indexers}

    def add(self, obj):
        key = self._key_func(obj)
        values = {name: set(function(obj) or ()) for name, function in self._indexers.items()}
        with self._lock:
            self._remove(key)
            self._objects[key] = obj
            for name, found in values.items():
                for value in found:
                    self._entries[name].setdefault(value, set()).add(key)
            while len(self._objects) > self.size:
                self._evict()

    update = add

    def delete(self, obj):
        with self._lock:
            self._remove(self._key_func(obj))

    def replace(self, objs, _resource_version=""):
        content = {self._key_func(obj): obj for obj in objs}
        for function in self._indexers.values():
            for obj in content.values():
                function(obj)
        with self._lock:
            for key in list(self._objects):
                self._remove(key)
            for obj in content.values():
                self.add(obj)

    def get(self, obj, default=None):
        return self.get_by_key(self._key_func(obj), default)

    def get_by_key(self, key, default=None):
        with self._lock:
            return self._found(key, default)

    def list(self):
        with self._lock:
            return list(self._objects.values())

    def list_keys(self):
        with self._lock:
            return list(self._objects)

    def index(self, index_name, obj):
        with self._lock:
            keys = {key for value in self._indexers[index_name](obj) or () for key in self._keys(index_name, value)}
            return [self._objects[key] for key in keys if key in self._objects]

    def index_keys(self, index_name, value):
        with self._lock:
            return sorted(self._keys(index_name, value))

    def by_index(self, index_name, value):
        with self._lock:
            return [self._objects[key] for key in self._keys(index_name, value) if key in self._objects]

    def list_index_func_values(self, index_name):
        with self._lock:
            return [value for value, keys in self._entries.get(index_name, {}).items() if keys]

    def get_indexers(self):
        return dict(self._indexers)

    def _keys(self, index_name, value):
        return self._entries[index_name].get(value, ())

    def _found(self, key, default):
        if key not in self._objects:
            return default
        self._objects.move_to_end(key)
        return self._objects[key]

    def _remove(self, key):
        if self._objects.pop(key, None) is not None:
            self._forget(key)

    def _forget(self, key):
        for entries in self._entries.values():
            for keys in entries.values():
                keys.discard(key)

    def _evict(self):
        key, _ = self._objects.popitem(last=False)
        self._forget(key)


class Forgetful(Lru):
    """Right: something goes at every third call, as if its time were over, even between two looks at the same thing."""

    def __init__(self, key_func, indexers):
        super().__init__(key_func, indexers)
        self._calls = 0


def _forgetting(name):
    def call(self, *arguments):
        with self._lock:
            self._calls += 1
            if self._calls % 3 == 0 and self._objects:
                self._evict()
            return getattr(Lru, name)(self, *arguments)

    return call


for _name in ("get_by_key", "list", "list_keys", "index", "index_keys", "by_index", "list_index_func_values", "delete"):
    setattr(Forgetful, _name, _forgetting(_name))


class Stale(Lru):
    """Wrong: what goes leaves its index entries behind."""

    def _evict(self):
        self._objects.popitem(last=False)


class Resurrecting(Lru):
    """Wrong: what went comes back when another object is deleted."""

    def __init__(self, key_func, indexers):
        super().__init__(key_func, indexers)
        self._gone = []

    def _evict(self):
        self._gone.append(next(iter(self._objects.values())))
        super()._evict()

    def delete(self, obj):
        with self._lock:
            super().delete(obj)
            if self._gone:
                self.add(self._gone.pop())


class EvictingInTwoSteps(Lru):
    """Wrong, if seen by another thread: what went is listed no more, and found by its key."""

    def __init__(self, key_func, indexers):
        super().__init__(key_func, indexers)
        self._last = {}

    def _evict(self):
        key, obj = next(iter(self._objects.items()))
        self._last[key] = obj
        super()._evict()

    def add(self, obj):
        super().add(obj)
        self._last = {}

    update = add

    def get_by_key(self, key, default=None):
        found = super().get_by_key(key, None)
        return self._last.get(key, default) if found is None else found
