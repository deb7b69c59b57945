"""A resync shows known objects behind queued changes of theirs, as older versions of client-go did."""

from kcache.queues import RealFIFO


class RealResyncOfQueued(RealFIFO):
    """Finds nothing queued."""

    def resync(self):
        with self._lock:
            queued, self._items = self._items, type(self._items)()
            super().resync()
            queued.extend(self._items)
            self._items = queued


new_queue = RealResyncOfQueued
