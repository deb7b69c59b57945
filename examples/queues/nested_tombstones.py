"""A replacement wraps a queued tombstone in another one: the consumer finds a tombstone where it expects an object."""

from kcache import DeletedFinalStateUnknown
from kcache.queues import DeltaFIFO


class NestedTombstones(DeltaFIFO):
    """Takes whatever was queued last for an object."""

    def _tombstones_of_queued(self, listed):
        return {
            key: DeletedFinalStateUnknown(key, deltas[-1].object)
            for key, deltas in self._items.items()
            if key not in listed
        }


new_queue = NestedTombstones
