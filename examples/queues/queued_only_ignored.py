"""A replacement looks for missing objects among the known ones only: what was only queued stays for ever, a ghost.

kubernetes#115658.
"""

from kcache.queues import DeltaFIFO


class QueuedOnlyIgnored(DeltaFIFO):
    """Forgets what waits in the queue itself, where it is given known objects."""

    def _tombstones_of_queued(self, listed):
        if self._known_objects is None:
            return super()._tombstones_of_queued(listed)
        return {key: gone for key, gone in super()._tombstones_of_queued(listed).items() if self._is_known(key)}


new_queue = QueuedOnlyIgnored
