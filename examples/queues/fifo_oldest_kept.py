"""A FIFO that keeps the first object of a key: the consumer gets a state that has long been replaced."""

from kcache.queues import FIFO


class FifoOldestKept(FIFO):
    """First come, first served."""

    def add(self, obj, /):
        with self._lock:
            if self.key_of(obj) in self._items:
                self._population.written()
            else:
                super().add(obj)

    def update(self, obj, /):
        self.add(obj)


new_queue = FifoOldestKept
