"""An item counts as handed out before it is processed, and ``has_synced`` takes no lock."""

from kcache.queues import RealFIFO


class RealSyncedBeforeProcessed(RealFIFO):
    """Counts first."""

    def has_synced(self):
        return self._population.has_synced()

    def _processed(self, count, process):
        self._population.handed_out(count)
        process()


new_queue = RealSyncedBeforeProcessed
