"""``close`` sets its flag before it takes the lock, and wakes everybody under it.

Looks like close_without_lock.py and is right: whoever has looked too early waits by the time that it is woken.
"""

from kcache.queues import DeltaFIFO


class FlagOutsideLock(DeltaFIFO):
    """The flag alone wakes nobody; the notification comes under the lock."""

    def close(self):
        self._is_closed = True
        with self._lock:
            self._changed.notify_all()


new_queue = FlagOutsideLock
