"""A FIFO whose ``replace`` wakes one consumer for many objects: the others sleep although there is work."""

from collections import deque

from kcache.queues import FIFO


class FifoWakesOneTooFew(FIFO):
    """Notifies once per call."""

    def replace(self, objs, resource_version="", /):
        items = {self.key_of(obj): obj for obj in objs}
        with self._lock:
            self._population.replaced(len(items))
            self._items = items
            self._queue = deque(items)
            self._changed.notify()


new_queue = FifoWakesOneTooFew
