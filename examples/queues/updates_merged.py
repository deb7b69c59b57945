"""Two updates in a row become one: the consumer misses a state, though only deletions may be merged."""

from kcache.queues import Delta, DeltaFIFO, DeltaType


class UpdatesMerged(DeltaFIFO):
    """Keeps the newest of several updates."""

    def _enqueue(self, delta_type, obj, key):
        deltas = self._items.get(key)
        if deltas and delta_type is DeltaType.UPDATED and deltas[-1].type is DeltaType.UPDATED:
            deltas[-1] = Delta(delta_type, obj)
        else:
            super()._enqueue(delta_type, obj, key)


new_queue = UpdatesMerged
