"""Wakes the consumers before a change is queued, but inside the same critical section.

Looks like notify_before_append.py and is right: who is woken needs the lock to look.
"""

from kcache.queues import DeltaFIFO


class NotifyFirstInsideLock(DeltaFIFO):
    """The order of what happens under the lock is nobody's business."""

    def add(self, obj, /):
        with self._lock:
            self._changed.notify_all()
            super().add(obj)


new_queue = NotifyFirstInsideLock
