"""A resync shows known objects that have a newer change queued: the old object comes as the newest one.

kubernetes#31981.
"""

from kcache.queues import DeltaFIFO, DeltaType


class ResyncOfQueued(DeltaFIFO):
    """Shows every known object."""

    def resync(self):
        with self._lock:
            for key in self._known_objects.list_keys() if self._known_objects is not None else ():
                self._enqueue(DeltaType.SYNC, self._known_objects.get_by_key(key), key)


new_queue = ResyncOfQueued
