"""Whether an item belongs to the first list is found out too late: the last one seems to be a live change."""

from kcache.queues import DeltaFIFO


class InitialFlagLate(DeltaFIFO):
    """Asks whether the queue has synced when the item is out already."""

    def pop(self, process, /):
        return super().pop(lambda deltas, _: process(deltas, not self._population.has_synced()))


new_queue = InitialFlagLate
