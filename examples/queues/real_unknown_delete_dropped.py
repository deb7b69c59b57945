"""The deletion of an object that nobody has heard of is dropped, which a DeltaFIFO does and a RealFIFO does not."""

from kcache.queues import RealFIFO


class RealUnknownDeleteDropped(RealFIFO):
    """Delivers what can be applied."""

    def delete(self, obj, /):
        with self._lock:
            known = self._known_objects
            key = self.key_of(obj)
            if known is not None and key not in self._last_queued() and known.get_by_key(key) is None:
                self._population.written()
                return
            super().delete(obj)


new_queue = RealUnknownDeleteDropped
