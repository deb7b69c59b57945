"""A resync runs the transformer again, on objects that are in use (kubernetes#124337)."""

from __future__ import annotations

from typing import Any

from kcache.informers import Clock, SharedIndexInformer
from kcache.queues import DeltaFIFO


class Faulty(DeltaFIFO):
    """Transforms whatever is queued."""

    def resync(self) -> None:
        transformer = self._transformer
        with self._lock:
            for key in self._known_objects.list_keys():
                if key not in self._items:
                    obj = self._known_objects.get_by_key(key)
                    self._enqueue("Sync", obj if transformer is None else transformer(obj), key)


def new_queue(key_func: Any, known_objects: Any, transformer: Any) -> Faulty:
    return Faulty(key_func, known_objects=known_objects, emit_delta_type_replaced=True, transformer=transformer)


def make(lister_watcher: Any, *, clock: Clock | None = None, resync_seconds: float = 0) -> SharedIndexInformer:
    return SharedIndexInformer(lister_watcher, clock=clock, resync_seconds=resync_seconds, new_queue=new_queue)
