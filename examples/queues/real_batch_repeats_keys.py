"""A batch holds two changes of one object: a consumer that applies a batch at one go gets one of them wrong."""

from kcache.queues import BATCH_SIZE, RealFIFO


class RealBatchRepeatsKeys(RealFIFO):
    """Everything that waits is a batch."""

    def _batch_length(self):
        if self._known_objects is None:
            return super()._batch_length()
        return min(len(self._items), BATCH_SIZE, self._population.left or BATCH_SIZE)


new_queue = RealBatchRepeatsKeys
