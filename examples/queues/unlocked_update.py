"""``update`` looks and queues without the lock: what comes in between is lost or handed out twice."""

from kcache.queues import Delta, DeltaFIFO, DeltaType


class UnlockedUpdate(DeltaFIFO):
    """Takes the lock to notify only."""

    def update(self, obj, /):
        key = self.key_of(obj)
        obj = self._transformed(obj)
        self._population.written()
        deltas = self._items.get(key)
        if deltas is None:
            self._items[key] = [Delta(DeltaType.UPDATED, obj)]
            self._queue.append(key)
        else:
            deltas.append(Delta(DeltaType.UPDATED, obj))
        with self._lock:
            self._changed.notify_all()


new_queue = UnlockedUpdate
