"""The calls of a DeltaFIFO, each inside ``_guarded``: a design says how that guards, and how ``pop`` waits."""

from changes_by_key import ChangesByKey

from kcache import FIFOClosedError
from kcache.queues import DeltaType


class GuardedQueue:
    """Base of correct designs. ``_guarded()`` is a context manager; ``_woken(count)`` is told of new keys inside it."""

    def __init__(self, key_func, *, known_objects=None, emit_delta_type_replaced=False, transformer=None):
        self._content = ChangesByKey(key_func, known_objects, emit_delta_type_replaced, transformer)
        self._is_closed = False

    def add(self, obj):
        with self._guarded():
            self._woken(self._content.write(DeltaType.ADDED, obj))

    def update(self, obj):
        with self._guarded():
            self._woken(self._content.write(DeltaType.UPDATED, obj))

    def delete(self, obj):
        with self._guarded():
            self._content.key_of(obj)
            self._woken(self._content.write(DeltaType.DELETED, obj))

    def replace(self, objs, resource_version=""):
        with self._guarded():
            before = len(self._content.changes)
            try:
                self._content.replace(list(objs))
            finally:
                self._woken(len(self._content.changes) - before)

    def resync(self):
        with self._guarded():
            self._woken(self._content.resync())

    def has_synced(self):
        with self._guarded():
            return self._content.has_synced()

    def is_closed(self):
        with self._guarded():
            return self._is_closed

    def _hand_out(self, process):
        """The next item, processed; the caller guards, and knows that there is one, or that the queue is closed."""
        if not self._content.changes:
            raise FIFOClosedError
        deltas, is_in_initial_list = self._content.take()
        process(deltas, is_in_initial_list)
        return deltas
