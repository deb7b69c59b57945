"""What a DeltaFIFO holds, without a thought for threads: the correct designs differ in how they guard it."""

from kcache import DeletedFinalStateUnknown, KeyFuncError
from kcache.queues import Delta, Deltas, DeltaType, EnqueueError

DELETED = DeltaType.DELETED


class ChangesByKey:
    """Changes by key in the order in which the keys came. Whoever calls must be alone."""

    def __init__(self, key_func, known_objects=None, emit_delta_type_replaced=False, transformer=None):
        self.key_func = key_func
        self.known = known_objects
        self.replaced_type = DeltaType.REPLACED if emit_delta_type_replaced else DeltaType.SYNC
        self.transformer = transformer
        self.changes = {}
        self.is_populated = False
        self.left = 0

    def key_of(self, obj):
        if isinstance(obj, DeletedFinalStateUnknown):
            return obj.key
        try:
            return self.key_func(obj)
        except Exception as error:
            raise KeyFuncError(obj, error) from error

    def write(self, delta_type, obj):
        """One change; whether it is the first one of its key."""
        if delta_type is not DELETED:
            self.is_populated = True
        key = self.key_of(obj)
        self.is_populated = True
        if delta_type is DELETED and key not in self.changes and not self._knows(key):
            return False
        return self._append(key, Delta(delta_type, self._transformed(obj)))

    def replace(self, objs):
        """All objects there are; how many keys are new in the queue. What was queued before an error remains."""
        listed, before = set(), len(self.changes)
        for obj in objs:
            key = self.key_of(obj)
            try:
                transformed = self._transformed(obj)
            except Exception as error:
                raise EnqueueError(error) from error
            self._append(key, Delta(self.replaced_type, transformed))
            listed.add(key)
        gone = {}
        for key, deltas in self.changes.items():
            if key not in listed and deltas[-1].type is not DELETED:
                last = deltas[-1].object
                gone[key] = last.obj if isinstance(last, DeletedFinalStateUnknown) else last
        for key in self.known.list_keys() if self.known is not None else ():
            if key not in listed and key not in self.changes:
                gone[key] = self.known.get_by_key(key)
        for key, obj in gone.items():
            self._append(key, Delta(DELETED, DeletedFinalStateUnknown(key, obj)))
        if not self.is_populated:
            self.is_populated, self.left = True, len(listed) + len(gone)
        return len(self.changes) - before

    def resync(self):
        """Shows what is known and not queued; how many keys are new in the queue."""
        shown = 0
        for key in self.known.list_keys() if self.known is not None else ():
            if key not in self.changes:
                shown += self._append(key, Delta(DeltaType.SYNC, self.known.get_by_key(key)))
        return shown

    def take(self):
        """The next changes, and whether they belong to the first replacement."""
        is_initial = not self.has_synced()
        deltas = Deltas(self.changes.pop(next(iter(self.changes))))
        self.left = max(0, self.left - 1)
        return deltas, is_initial

    def has_synced(self):
        return self.is_populated and self.left == 0

    def _knows(self, key):
        return self.known is not None and self.known.get_by_key(key) is not None

    def _transformed(self, obj):
        if self.transformer is None or isinstance(obj, DeletedFinalStateUnknown):
            return obj
        return self.transformer(obj)

    def _append(self, key, delta):
        deltas = self.changes.setdefault(key, [])
        if deltas and delta.type is DELETED and deltas[-1].type is DELETED:
            if isinstance(deltas[-1].object, DeletedFinalStateUnknown):
                deltas[-1] = delta
        else:
            deltas.append(delta)
        return len(deltas) == 1
