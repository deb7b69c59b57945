"""A replacement queues what is listed before what is missing, unlike the real thing."""

from kcache.queues import Delta, DeltaType, RealFIFO


class RealReplacedFirst(RealFIFO):
    """Good news first."""

    def replace(self, objs, resource_version="", /):
        objs = list(objs)
        if self._known_objects is None:
            super().replace(objs, resource_version)
            return
        with self._lock:
            gone = self._deletions(self._known_objects, {self.key_of(obj) for obj in objs})
            for delta in [*(Delta(DeltaType.REPLACED, self._transformed(obj)) for obj in objs), *gone]:
                self._append(delta)
            self._population.replaced(len(self._items))
            self._changed.notify_all()


new_queue = RealReplacedFirst
