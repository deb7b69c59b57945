"""A replacement is dropped for a key whose last change is a deletion: the object that was made again is lost.

kubernetes#83810.
"""

from kcache.queues import DeltaFIFO, DeltaType


class ReplaceAfterDeleted(DeltaFIFO):
    """Takes a replacement after a deletion for a resync that came too late."""

    def _enqueue(self, delta_type, obj, key):
        deltas = self._items.get(key)
        is_deleted = deltas is not None and deltas[-1].type is DeltaType.DELETED
        if is_deleted and delta_type in (DeltaType.SYNC, DeltaType.REPLACED):
            return
        super()._enqueue(delta_type, obj, key)


new_queue = ReplaceAfterDeleted
