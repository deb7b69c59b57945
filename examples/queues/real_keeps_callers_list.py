"""A replacement as one event holds the caller's own list: what the caller does with it later shows in the event."""

from kcache.queues import DeltaType, RealFIFO, ReplacedAllInfo


class RealKeepsCallersList(RealFIFO):
    """Saves a copy."""

    def replace(self, objs, resource_version="", /):
        if self._known_objects is not None or self._transformer is not None:
            super().replace(objs, resource_version)
            return
        with self._lock:
            self._append(DeltaType.REPLACED_ALL, ReplacedAllInfo(resource_version, objs))
            self._population.replaced(len(self._items))
            self._tell_waiting()


new_queue = RealKeepsCallersList
