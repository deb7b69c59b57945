"""The queue has synced before the deletions of the first replacement were handed out: kubernetes PR #31755."""

from kcache.queues import DeltaFIFO


class SyncedBeforeDeletions(DeltaFIFO):
    """Counts what the first replacement lists, not what it misses."""

    def replace(self, objs, resource_version="", /):
        objs = list(objs)
        with self._lock:
            is_first = not self._population._is_populated
            super().replace(objs, resource_version)
            if is_first:
                self._population._left = len({self.key_of(obj) for obj in objs})


new_queue = SyncedBeforeDeletions
