"""The first replacement counts objects, not keys: with a key named twice, the queue never has synced.

kubernetes PR #96797.
"""

from kcache.queues import DeltaFIFO


class PopulationFromLength(DeltaFIFO):
    """Waits for as many pops as the list had objects."""

    def replace(self, objs, resource_version="", /):
        objs = list(objs)
        with self._lock:
            is_first = not self._population._is_populated
            super().replace(objs, resource_version)
            if is_first:
                self._population._left += len(objs) - len({self.key_of(obj) for obj in objs})


new_queue = PopulationFromLength
