"""A queue of changes in their order of arrival (client-go ``RealFIFO``)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Final

from ..errors import EnqueueError, KeyFuncError, QueueOptionsError
from ..interfaces import KeyFunc, Transformer
from ..keys import DeletedFinalStateUnknown, meta_namespace_key_func
from .base import WaitingQueue
from .deltas import ATOMIC_TYPES, BookmarkInfo, Delta, Deltas, DeltaType, ReplacedAllInfo, SyncAllInfo
from .interfaces import KeyListerGetter, PopProcessFunc, ProcessBatchFunc
from .keys import key_of

BATCH_SIZE: Final = 1000
"""The maximum number of changes that :meth:`RealFIFO.pop_batch` processes at once."""


class RealFIFO(WaitingQueue):
    """A queue of single changes in their order of arrival, across all objects.

    There are two modes. With ``known_objects``, a replacement is queued as one deletion per missing object and one
    ``Replaced`` delta per listed object. With ``atomic_events``, a replacement, a resync or a bookmark is one change,
    and the consumer compares a replacement with its stored objects.

    :meth:`add`, :meth:`update`, :meth:`delete`, :meth:`pop` are O(1). :meth:`replace` and :meth:`resync` are linear in
    the number of listed, known and queued objects (with atomic events: of listed objects).

    Args:
        key_func: object -> key.
        known_objects: the objects that the consumer has stored, see :class:`~kcache.queues.DeltaFIFO`.
        transformer: replaces each object before it is queued, except tombstones and the objects of a resync.
        atomic_events: select the second mode; then there are no ``known_objects``.
        unlock_while_processing: release the lock during processing, so that writers need not wait, if the queue is
            short. Needs ``atomic_events``, and a single consumer: with several, changes may be applied out of order.
        emit_delta_type_bookmark: whether :meth:`bookmark` queues anything; needs ``atomic_events``.

    Raises:
        QueueOptionsError: the options contradict each other.
    """

    def __init__(
        self,
        key_func: KeyFunc[Any] = meta_namespace_key_func,
        *,
        known_objects: KeyListerGetter | None = None,
        transformer: Transformer[Any] | None = None,
        atomic_events: bool = False,
        unlock_while_processing: bool = False,
        emit_delta_type_bookmark: bool = False,
    ) -> None:
        if atomic_events and known_objects is not None:
            raise QueueOptionsError(
                "if atomic_events is set, the consumer compares replacements: leave known_objects out"
            )
        if not atomic_events and known_objects is None:
            raise QueueOptionsError("pass known_objects, or set atomic_events")
        if unlock_while_processing and not atomic_events:
            raise QueueOptionsError("unlock_while_processing needs atomic_events: known objects must not lag behind")
        if emit_delta_type_bookmark and not atomic_events:
            raise QueueOptionsError("emit_delta_type_bookmark needs atomic_events")
        super().__init__(key_func)
        self._known_objects = known_objects
        self._transformer = transformer
        self._unlocks = unlock_while_processing
        self._emits_bookmarks = emit_delta_type_bookmark
        self._items: deque[Delta] = deque()  # their keys decide which changes form a batch

    def __len__(self) -> int:
        with self._lock:
            return len(self._items)

    def add(self, obj: Any, /) -> None:
        """Queue an ``Added`` delta for the object.

        Raises:
            KeyFuncError: the object has no key; nothing is queued.
            Exception: any error that the transformer raises; nothing is queued.
        """
        self._write(DeltaType.ADDED, obj)

    def update(self, obj: Any, /) -> None:
        """Queue an ``Updated`` delta for the object; raises the errors of :meth:`add`."""
        self._write(DeltaType.UPDATED, obj)

    def delete(self, obj: Any, /) -> None:
        """Queue a ``Deleted`` delta for the object or tombstone, even if its key is neither queued nor known.

        Raises:
            KeyFuncError: the object has no key; nothing is queued.
            Exception: any error that the transformer raises; nothing is queued.
        """
        self._write(DeltaType.DELETED, obj)

    def replace(self, objs: Iterable[Any], resource_version: str = "", /) -> None:
        """Queue ``objs`` as the complete content.

        Raises:
            KeyFuncError: one of the objects has no key; nothing is queued. Only with known objects.
            EnqueueError: the transformer failed for one of the objects. The objects before it are queued; with atomic
                events, nothing is queued.
        """
        objs = list(objs)
        with self._lock:
            if self._known_objects is None:
                info = ReplacedAllInfo(resource_version, tuple(map(self._transformed, objs)))
                self._append(DeltaType.REPLACED_ALL, info)
            else:
                self._items.extend(self._deletions(self._known_objects, {self.key_of(obj) for obj in objs}))
                for obj in objs:
                    self._append(DeltaType.REPLACED, self._transformed(obj))
            self._population.replaced(len(self._items))
            self._tell_waiting()

    def resync(self) -> None:
        """Queue a resync of every known object: as one change, or as a ``Sync`` per known key that is not queued."""
        with self._lock:
            if self._known_objects is None:
                self._append(DeltaType.SYNC_ALL, SyncAllInfo())
            else:
                queued = self._last_queued()
                for key in self._known_objects.list_keys():
                    obj = None if key in queued else self._known_objects.get_by_key(key)
                    if obj is not None:
                        self._append(DeltaType.SYNC, obj)
            self._tell_waiting()

    def bookmark(self, resource_version: str, /) -> None:
        """Queue a bookmark for ``resource_version``, if ``emit_delta_type_bookmark`` is set."""
        if self._emits_bookmarks:
            with self._lock:
                self._append(DeltaType.BOOKMARK, BookmarkInfo(resource_version))
                self._tell_waiting()

    def pop(self, process: PopProcessFunc, /) -> Deltas:
        """Wait for the next change, call ``process(deltas, is_in_initial_list)`` with it alone, and return it.

        Raises:
            FIFOClosedError: the queue is closed and empty.
            Exception: any error that ``process`` raises; the change is removed from the queue all the same.
        """
        with self._lock:
            self._wait_until(lambda: self._items)
            is_in_initial_list = not self._population.has_synced()
            deltas = Deltas((self._items.popleft(),))
            self._processed(1, lambda: process(deltas, is_in_initial_list))
            return deltas

    def pop_batch(self, process_batch: ProcessBatchFunc, process_single: PopProcessFunc, /) -> None:
        """Wait for changes, and process a batch of changes with distinct keys.

        A batch ends at a repeated key, at a change that concerns no single object, at the end of the initial list, and
        after :data:`BATCH_SIZE` changes. A single change is passed to ``process_single``, as in :meth:`pop`.

        Raises:
            FIFOClosedError: the queue is closed and empty.
            Exception: any error that the process function raises; the changes are removed from the queue all the same.
        """
        with self._lock:
            self._wait_until(lambda: self._items)
            is_in_initial_list = not self._population.has_synced()
            count = self._batch_length()
            batch = [self._items.popleft() for _ in range(count)]
            if count == 1:
                self._processed(1, lambda: process_single(Deltas(batch), is_in_initial_list))
            else:
                self._processed(count, lambda: process_batch(batch, is_in_initial_list))

    def _write(self, delta_type: DeltaType, obj: Any) -> None:
        with self._lock:
            self._population.written()
            key = key_of(self._key_func, obj)  # later replacements and resyncs need the keys of all queued objects
            if self._transformer is None or isinstance(obj, DeletedFinalStateUnknown):
                self._items.append(Delta(delta_type, obj, key))
            else:
                self._append(delta_type, self._transformer(obj))
            self._tell_waiting()

    def _append(self, delta_type: DeltaType, obj: Any) -> None:
        try:
            key = None if delta_type in ATOMIC_TYPES else self.key_of(obj)
        except KeyFuncError:
            key = None  # such a change is processed alone, so that its error affects no other change
        self._items.append(Delta(delta_type, obj, key))

    def _processed(self, count: int, process: Callable[[], object]) -> None:
        """Process ``count`` changes, then count them as popped, so that a synced queue has been processed."""
        unlocks = self._unlocks and len(self._items) < 2 * BATCH_SIZE
        if unlocks:
            self._lock.release()
        try:
            process()
        finally:
            if unlocks:
                self._lock.acquire()
            self._population.handed_out(count)

    def _batch_length(self) -> int:
        """Return the number of changes at the front that may be processed together; at least 1."""
        most = min(BATCH_SIZE, self._population.left or BATCH_SIZE)
        keys: set[str] = set()
        for delta in islice(self._items, most):
            if delta.key is None or delta.key in keys:
                return max(1, len(keys))
            keys.add(delta.key)
        return len(keys)

    def _transformed(self, obj: Any) -> Any:
        if self._transformer is None or isinstance(obj, DeletedFinalStateUnknown):
            return obj
        try:
            return self._transformer(obj)
        except Exception as error:
            raise EnqueueError(error) from error

    def _last_queued(self) -> dict[str, Delta]:
        """Return the last queued change of each key."""
        return {self.key_of(delta.object): delta for delta in self._items}

    def _deletions(self, known_objects: KeyListerGetter, listed: set[str]) -> Sequence[Delta]:
        """Return deletions for the queued or known objects that are not listed, except those already deleted."""
        queued = self._last_queued()
        gone = {}
        for key, delta in queued.items():
            if key not in listed and delta.type is not DeltaType.DELETED:
                gone[key] = delta.object.obj if isinstance(delta.object, DeletedFinalStateUnknown) else delta.object
        for key in known_objects.list_keys():
            if key not in listed and key not in queued:
                gone[key] = known_objects.get_by_key(key)
        return [Delta(DeltaType.DELETED, DeletedFinalStateUnknown(key, obj), key) for key, obj in gone.items()]
