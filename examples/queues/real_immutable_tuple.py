"""A RealFIFO whose queue is a tuple that each change replaces; with atomic events only, and without a transformer."""

import threading

from kcache import FIFOClosedError, KeyFuncError
from kcache.queues import Delta, Deltas, DeltaType, ReplacedAllInfo, SyncAllInfo


class RealImmutableTuple:
    """One lock for writers and consumers; ``has_synced`` waits for what is being processed."""

    def __init__(self, key_func, *, atomic_events=True):
        self._key_func = key_func
        self._changed = threading.Condition(threading.Lock())
        self._items = ()
        self._is_closed = False
        self._left = None  # until something was written

    def _append(self, delta_type, obj):
        self._items = (*self._items, Delta(delta_type, obj))
        self._changed.notify()

    def _write(self, delta_type, obj):
        with self._changed:
            self._left = self._left or 0
            try:
                getattr(obj, "key", None) or self._key_func(obj)
            except Exception as error:
                raise KeyFuncError(obj, error) from error
            self._append(delta_type, obj)

    def add(self, obj):
        self._write(DeltaType.ADDED, obj)

    def update(self, obj):
        self._write(DeltaType.UPDATED, obj)

    def delete(self, obj):
        self._write(DeltaType.DELETED, obj)

    def replace(self, objs, resource_version=""):
        with self._changed:
            self._append(DeltaType.REPLACED_ALL, ReplacedAllInfo(resource_version, tuple(objs)))
            if self._left is None:
                self._left = len(self._items)

    def resync(self):
        with self._changed:
            self._append(DeltaType.SYNC_ALL, SyncAllInfo())

    def has_synced(self):
        with self._changed:
            return self._left == 0

    def is_closed(self):
        with self._changed:
            return self._is_closed

    def close(self):
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def pop(self, process):
        with self._changed:
            self._changed.wait_for(lambda: self._items or self._is_closed)
            if not self._items:
                raise FIFOClosedError
            first, *rest = self._items
            self._items = tuple(rest)
            deltas = Deltas((first,))
            try:
                process(deltas, self._left != 0)
            finally:
                self._left = self._left and self._left - 1
            return deltas


def new_queue(key_func, *, atomic_events=True):
    return RealImmutableTuple(key_func, atomic_events=atomic_events)


new_queue.kcache_unsupported = ["known_objects", "transformer", "emit_delta_type_bookmark"]
