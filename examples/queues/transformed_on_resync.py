"""The transformer runs again on what a resync shows, although others use these objects: kubernetes#124337."""

from kcache.queues import DeltaFIFO, DeltaType


class TransformedOnResync(DeltaFIFO):
    """Transforms whatever is queued."""

    def resync(self):
        with self._lock:
            for key in self._known_objects.list_keys() if self._known_objects is not None else ():
                if key not in self._items:
                    self._enqueue(DeltaType.SYNC, self._transformed(self._known_objects.get_by_key(key)), key)


new_queue = TransformedOnResync
