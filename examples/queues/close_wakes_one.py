"""``close`` wakes one consumer; the others sleep for ever."""

from kcache.queues import DeltaFIFO


class CloseWakesOne(DeltaFIFO):
    """Notifies once."""

    def close(self):
        with self._lock:
            self._is_closed = True
            self._changed.notify()


new_queue = CloseWakesOne
