"""A resync reads the known objects before it takes the lock: it may show an object that was deleted meanwhile."""

from kcache.queues import DeltaFIFO, DeltaType


class ResyncReadsBeforeLock(DeltaFIFO):
    """Holds the lock as briefly as it can."""

    def resync(self):
        if self._known_objects is None:
            return
        known = [(key, self._known_objects.get_by_key(key)) for key in self._known_objects.list_keys()]
        with self._lock:
            for key, obj in known:
                if obj is not None and key not in self._items:
                    self._enqueue(DeltaType.SYNC, obj, key)


new_queue = ResyncReadsBeforeLock
