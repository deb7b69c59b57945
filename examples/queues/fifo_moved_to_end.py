"""A FIFO in which an update moves its key to the end."""

from kcache.queues import FIFO


class FifoMovedToEnd(FIFO):
    """The newest object comes last."""

    def add(self, obj, /):
        key = self.key_of(obj)
        with self._lock:
            if key in self._items:
                self._queue.remove(key)
                self._queue.append(key)
            super().add(obj)

    def update(self, obj, /):
        self.add(obj)


new_queue = FifoMovedToEnd
