"""``add`` wakes the consumers before the change is queued: one that looks in between goes back to sleep for ever."""

from kcache.queues import Delta, DeltaFIFO, DeltaType


class NotifyBeforeAppend(DeltaFIFO):
    """Wakes first, and queues in a second critical section."""

    def add(self, obj, /):
        with self._lock:
            self._population.written()
            key = self.key_of(obj)
            obj = self._transformed(obj)
            self._changed.notify_all()
        with self._lock:
            if key not in self._items:
                self._items[key] = []
                self._queue.append(key)
            self._items[key].append(Delta(DeltaType.ADDED, obj))


new_queue = NotifyBeforeAppend
