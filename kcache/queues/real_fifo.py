"""A queue of changes in the order in which they came (client-go ``RealFIFO``)."""

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
"""The most changes that :meth:`RealFIFO.pop_batch` hands out at once."""


class RealFIFO(WaitingQueue):
    """Hands out every change by itself, in the order in which they came, those of different objects included.

    There are two manners. With ``known_objects``, a replacement is queued as one deletion per missing object and one
    ``Replaced`` per listed one. With ``atomic_events``, replacements, resyncs and bookmarks are one change each, and it
    is for the consumer to compare a replacement with what it has stored.

    :meth:`add`, :meth:`update`, :meth:`delete`, :meth:`pop` are O(1); :meth:`replace` and :meth:`resync` are linear in
    what is listed, known and queued (with atomic events: in what is listed).

    Args:
        key_func: object -> key.
        known_objects: what the consumer has stored, see :class:`~kcache.queues.DeltaFIFO`.
        transformer: replaces each object before it is queued, except tombstones and what a resync shows again.
        atomic_events: the second manner; then there are no ``known_objects``.
        unlock_while_processing: let writers go on while a short queue is processed. Needs ``atomic_events``, and a
            single consumer: with several, changes may be applied out of order.
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
            raise QueueOptionsError("with atomic_events the consumer compares replacements: leave known_objects out")
        if not atomic_events and known_objects is None:
            raise QueueOptionsError("give known_objects, or set atomic_events")
        if unlock_while_processing and not atomic_events:
            raise QueueOptionsError("unlock_while_processing needs atomic_events: known objects must not lag behind")
        if emit_delta_type_bookmark and not atomic_events:
            raise QueueOptionsError("emit_delta_type_bookmark needs atomic_events")
        super().__init__(key_func)
        self._known_objects = known_objects
        self._transformer = transformer
        self._unlocks = unlock_while_processing
        self._emits_bookmarks = emit_delta_type_bookmark
        self._items: deque[Delta] = deque()  # their keys say what goes into one batch

    def __len__(self) -> int:
        with self._lock:
            return len(self._items)

    def add(self, obj: Any, /) -> None:
        """Queue that the object was added.

        Raises:
            KeyFuncError: the object has no key; nothing is queued.
            Exception: whatever the transformer raises; likewise.
        """
        self._write(DeltaType.ADDED, obj)

    def update(self, obj: Any, /) -> None:
        """Queue that the object was updated; raises as :meth:`add`."""
        self._write(DeltaType.UPDATED, obj)

    def delete(self, obj: Any, /) -> None:
        """Queue that the object, or what a tombstone stands for, was deleted, whether anybody has heard of it or not.

        Raises:
            KeyFuncError: the object has no key; nothing is queued.
            Exception: whatever the transformer raises; likewise.
        """
        self._write(DeltaType.DELETED, obj)

    def replace(self, objs: Iterable[Any], resource_version: str = "", /) -> None:
        """Queue that ``objs`` are all objects there are.

        Raises:
            KeyFuncError: one of the objects has no key; nothing is queued. Only with known objects.
            EnqueueError: the transformer failed for one of them; those before it are queued, with atomic events none.
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
        """Queue that every known object is to be shown again; one by one: those for which nothing is queued."""
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
        """Queue that the source has reached ``resource_version``, if this was asked for."""
        if self._emits_bookmarks:
            with self._lock:
                self._append(DeltaType.BOOKMARK, BookmarkInfo(resource_version))
                self._tell_waiting()

    def pop(self, process: PopProcessFunc, /) -> Deltas:
        """Wait for the next change, call ``process(deltas, is_in_initial_list)`` with it alone, and return it.

        Raises:
            FIFOClosedError: the queue is closed and empty.
            Exception: whatever ``process`` raises; the change is gone from the queue.
        """
        with self._lock:
            self._wait_until(lambda: self._items)
            is_in_initial_list = not self._population.has_synced()
            deltas = Deltas((self._items.popleft(),))
            self._processed(1, lambda: process(deltas, is_in_initial_list))
            return deltas

    def pop_batch(self, process_batch: ProcessBatchFunc, process_single: PopProcessFunc, /) -> None:
        """Wait for changes, and process as many as may be processed at once: of objects with distinct keys.

        A repeated key, a change that concerns no single object, and the end of the initial list end a batch. A single
        change goes to ``process_single``, as from :meth:`pop`.

        Raises:
            FIFOClosedError: the queue is closed and empty.
            Exception: whatever the process function raises; the changes are gone from the queue.
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
            key = key_of(self._key_func, obj)  # later replacements and resyncs ask for the keys of all that is queued
            if self._transformer is None or isinstance(obj, DeletedFinalStateUnknown):
                self._items.append(Delta(delta_type, obj, key))
            else:
                self._append(delta_type, self._transformer(obj))
            self._tell_waiting()

    def _append(self, delta_type: DeltaType, obj: Any) -> None:
        try:
            key = None if delta_type in ATOMIC_TYPES else self.key_of(obj)
        except KeyFuncError:
            key = None  # by itself, so that its error concerns nobody else
        self._items.append(Delta(delta_type, obj, key))

    def _processed(self, count: int, process: Callable[[], object]) -> None:
        """Process what was taken out; only then it counts as handed out, so that synced means processed."""
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
        """How many changes at the front may be processed together; at least 1."""
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
        """Key -> the last change that is queued for it."""
        return {self.key_of(delta.object): delta for delta in self._items}

    def _deletions(self, known_objects: KeyListerGetter, listed: set[str]) -> Sequence[Delta]:
        """Deletions of what is queued or known and not listed, but for what is deleted already."""
        queued = self._last_queued()
        gone = {}
        for key, delta in queued.items():
            if key not in listed and delta.type is not DeltaType.DELETED:
                gone[key] = delta.object.obj if isinstance(delta.object, DeletedFinalStateUnknown) else delta.object
        for key in known_objects.list_keys():
            if key not in listed and key not in queued:
                gone[key] = known_objects.get_by_key(key)
        return [Delta(DeltaType.DELETED, DeletedFinalStateUnknown(key, obj), key) for key, obj in gone.items()]
