"""The transformer is given tombstones, which it knows nothing of."""

from kcache.queues import DeltaFIFO


class TombstonesTransformed(DeltaFIFO):
    """Transforms whatever it is given."""

    def _transformed(self, obj):
        return obj if self._transformer is None else self._transformer(obj)


new_queue = TombstonesTransformed
