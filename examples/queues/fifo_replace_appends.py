"""A FIFO whose ``replace`` leaves what waits: the consumer is handed objects that no longer exist."""

from kcache.queues import FIFO


class FifoReplaceAppends(FIFO):
    """Adds what is listed."""

    def replace(self, objs, resource_version="", /):
        objs = list(objs)
        with self._lock:
            waiting = dict(self._items)
            super().replace(objs, resource_version)
            for key in waiting:
                if key not in self._items:
                    self._items[key] = waiting[key]
                    self._queue.append(key)


new_queue = FifoReplaceAppends
