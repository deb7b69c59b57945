"""A later change moves its key to the end of the queue: an object that changes all the time is never handed out."""

from kcache.queues import DeltaFIFO


class LatestChangeLast(DeltaFIFO):
    """The latest change decides the place."""

    def _enqueue(self, delta_type, obj, key):
        super()._enqueue(delta_type, obj, key)
        self._queue.remove(key)
        self._queue.append(key)


new_queue = LatestChangeLast
