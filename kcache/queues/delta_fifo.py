"""A queue of changes, gathered by key (client-go ``DeltaFIFO``)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from ..errors import EnqueueError
from ..interfaces import KeyFunc, Transformer
from ..keys import DeletedFinalStateUnknown, meta_namespace_key_func
from .base import WaitingQueue
from .deltas import Delta, Deltas, DeltaType
from .interfaces import KeyListerGetter, PopProcessFunc


class DeltaFIFO(WaitingQueue):
    """A queue whose items are keys, each with all changes of its object since the key was last popped.

    The first change of a key decides its place in the queue. Two deletions in a row are merged into one; no other
    changes are merged. Each call is O(1) in the number of keys; :meth:`replace` and :meth:`resync` are linear.

    Args:
        key_func: object -> key.
        known_objects: the objects that the consumer has stored. They decide which objects a replacement deletes, and
            which objects a resync queues. The process function has to keep them up to date. The queue reads them while
            it holds its lock.
        emit_delta_type_replaced: whether a replacement queues ``Replaced`` deltas; if not, it queues ``Sync`` deltas,
            and a consumer cannot distinguish a relist from a resync (kubernetes PR #86015).
        transformer: replaces each object before it is queued, except tombstones and the objects of a resync: they were
            transformed before and may be in use (kubernetes#124337).
    """

    def __init__(
        self,
        key_func: KeyFunc[Any] = meta_namespace_key_func,
        *,
        known_objects: KeyListerGetter | None = None,
        emit_delta_type_replaced: bool = False,
        transformer: Transformer[Any] | None = None,
    ) -> None:
        super().__init__(key_func)
        self._known_objects = known_objects
        self._replaced = DeltaType.REPLACED if emit_delta_type_replaced else DeltaType.SYNC
        self._transformer = transformer
        self._items: dict[str, list[Delta]] = {}
        self._queue: deque[str] = deque()

    def __len__(self) -> int:
        with self._lock:
            return len(self._queue)

    def add(self, obj: Any, /) -> None:
        """Queue an ``Added`` delta for the object.

        Raises:
            KeyFuncError: the object has no key.
            Exception: any error that the transformer raises; nothing is queued.
        """
        with self._lock:
            self._population.written()
            key = self.key_of(obj)
            self._enqueue(DeltaType.ADDED, self._transformed(obj), key)

    def update(self, obj: Any, /) -> None:
        """Queue an ``Updated`` delta for the object; raises the errors of :meth:`add`."""
        with self._lock:
            self._population.written()
            key = self.key_of(obj)
            self._enqueue(DeltaType.UPDATED, self._transformed(obj), key)

    def delete(self, obj: Any, /) -> None:
        """Queue a ``Deleted`` delta for the object or tombstone, unless its key is neither queued nor known.

        Raises:
            KeyFuncError: the object has no key.
            Exception: any error that the transformer raises; nothing is queued.
        """
        key = self.key_of(obj)
        with self._lock:
            self._population.written()
            if key not in self._items and not self._is_known(key):
                return
            self._enqueue(DeltaType.DELETED, self._transformed(obj), key)

    def replace(self, objs: Iterable[Any], resource_version: str = "", /) -> None:  # noqa: ARG002
        """Queue ``objs`` as the complete content: a replacement for each, and deletions of other queued or known keys.

        A key whose last change is a deletion is replaced as well (kubernetes#83810). Objects that are queued but not
        known are deleted as well (kubernetes#115658).

        Raises:
            KeyFuncError: one of the objects has no key; the objects before it are queued.
            EnqueueError: the transformer failed for one of the objects; the objects before it are queued.
        """
        with self._lock:
            listed: set[str] = set()
            for obj in objs:
                key = self.key_of(obj)
                listed.add(key)
                try:
                    obj = self._transformed(obj)
                except Exception as error:
                    raise EnqueueError(error) from error
                self._enqueue(self._replaced, obj, key)
            gone = self._tombstones_of_queued(listed)
            gone.update(self._tombstones_of_known(listed))
            for key, tombstone in gone.items():
                self._enqueue(DeltaType.DELETED, tombstone, key)
            # Count keys, not objects: a list may contain a key twice (kubernetes PR #96797).
            self._population.replaced(len(listed) + len(gone))

    def resync(self) -> None:
        """Queue a ``Sync`` delta for each known object whose key is not queued: queued changes are newer."""
        with self._lock:
            if self._known_objects is None:
                return
            for key in self._known_objects.list_keys():
                # kubernetes#31981: behind a queued change, the older known object would look like the newest state.
                if key not in self._items:
                    obj = self._known_objects.get_by_key(key)
                    if obj is not None:
                        self._enqueue(DeltaType.SYNC, obj, key)

    def pop(self, process: PopProcessFunc, /) -> Deltas:
        """Wait for the next key, call ``process(deltas, is_in_initial_list)`` under the lock, and return the deltas.

        Raises:
            FIFOClosedError: the queue is closed and empty.
            Exception: any error that ``process`` raises; the deltas are removed from the queue all the same.
        """
        with self._lock:
            self._wait_until(lambda: self._queue)
            is_in_initial_list = not self._population.has_synced()
            deltas = Deltas(self._items.pop(self._queue.popleft()))
            self._population.handed_out()
            process(deltas, is_in_initial_list)
            return deltas

    def _transformed(self, obj: Any) -> Any:
        if self._transformer is None or isinstance(obj, DeletedFinalStateUnknown):
            return obj
        return self._transformer(obj)

    def _enqueue(self, delta_type: DeltaType, obj: Any, key: str) -> None:
        delta = Delta(delta_type, obj, key)
        deltas = self._items.get(key)
        if deltas is None:
            self._items[key] = [delta]
            self._queue.append(key)
        elif delta_type is DeltaType.DELETED and deltas[-1].type is DeltaType.DELETED:
            deltas[-1] = _more_telling(deltas[-1], delta)
        else:
            deltas.append(delta)
        self._tell_waiting()

    def _is_known(self, key: str) -> bool:
        return self._known_objects is not None and self._known_objects.get_by_key(key) is not None

    def _tombstones_of_queued(self, listed: set[str]) -> dict[str, DeletedFinalStateUnknown]:
        """Return tombstones for the queued objects that are not listed, except those whose last delta is a deletion."""
        gone = {}
        for key, deltas in self._items.items():
            last = deltas[-1]
            if key not in listed and last.type is not DeltaType.DELETED:
                obj = last.object.obj if isinstance(last.object, DeletedFinalStateUnknown) else last.object
                gone[key] = DeletedFinalStateUnknown(key, obj)
        return gone

    def _tombstones_of_known(self, listed: set[str]) -> dict[str, DeletedFinalStateUnknown]:
        """Return tombstones for the known objects that are neither listed nor queued."""
        if self._known_objects is None:
            return {}
        return {
            key: DeletedFinalStateUnknown(key, self._known_objects.get_by_key(key))
            for key in self._known_objects.list_keys()
            if key not in listed and key not in self._items
        }


def _more_telling(first: Delta, second: Delta) -> Delta:
    """Return the first of two deletions in a row; if the first is a tombstone, return the second."""
    return second if isinstance(first.object, DeletedFinalStateUnknown) else first
