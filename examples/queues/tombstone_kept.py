"""Of two deletions in a row the later one is kept, even if it is a tombstone: the object's final state is lost."""

from kcache.queues import Delta, DeltaFIFO, DeltaType


class TombstoneKept(DeltaFIFO):
    """The latest news is the best."""

    def _enqueue(self, delta_type, obj, key):
        deltas = self._items.get(key)
        if deltas and delta_type is DeltaType.DELETED and deltas[-1].type is DeltaType.DELETED:
            deltas[-1] = Delta(delta_type, obj)
        else:
            super()._enqueue(delta_type, obj, key)


new_queue = TombstoneKept
