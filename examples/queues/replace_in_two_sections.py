"""A replacement takes the lock twice: between the halves a consumer has synced, or a new object is deleted."""

from kcache.queues import DeltaFIFO, DeltaType


class ReplaceInTwoSections(DeltaFIFO):
    """First what is listed, then what is missing."""

    def replace(self, objs, resource_version="", /):
        listed = set()
        with self._lock:
            for obj in objs:
                key = self.key_of(obj)
                listed.add(key)
                self._enqueue(self._replaced, self._transformed(obj), key)
        with self._lock:
            gone = {**self._tombstones_of_queued(listed), **self._tombstones_of_known(listed)}
            for key, tombstone in gone.items():
                self._enqueue(DeltaType.DELETED, tombstone, key)
            self._population.replaced(len(listed) + len(gone))


new_queue = ReplaceInTwoSections
