"""What was popped is processed without the queue's lock: a replacement in between sees the object nowhere.

Neither queued any more nor known yet, the object is not deleted, and then stored for ever: kubernetes#27004.
"""

from kcache.queues import DeltaFIFO


class ProcessOutsideLock(DeltaFIFO):
    """Does not keep writers waiting while an item is processed."""

    def pop(self, process, /):
        taken = []
        deltas = super().pop(lambda *item: taken.append(item))
        process(*taken[0])
        return deltas


new_queue = ProcessOutsideLock
