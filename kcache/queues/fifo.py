"""A queue of the newest object per key (client-go ``FIFO``)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from ..interfaces import KeyFunc
from ..keys import meta_namespace_key_func
from .base import WaitingQueue
from .interfaces import PopProcessFunc


class FIFO(WaitingQueue):
    """A queue that returns each key once, with its newest object, in the order in which the keys were first added.

    Objects that are deleted before they are popped are never returned. If you need every change, deletions included,
    use :class:`~kcache.queues.DeltaFIFO`. Each call is O(1), :meth:`replace` O(n).

    Args:
        key_func: object -> key.
    """

    def __init__(self, key_func: KeyFunc[Any] = meta_namespace_key_func) -> None:
        super().__init__(key_func)
        self._items: dict[str, Any] = {}
        self._queue: deque[str] = deque()  # may name keys that were deleted

    def __len__(self) -> int:
        with self._lock:
            return len(self._items)

    def add(self, obj: Any, /) -> None:
        """Queue the object; if its key is queued already, replace the queued object.

        Raises:
            KeyFuncError: the object has no key.
        """
        key = self.key_of(obj)
        with self._lock:
            self._population.written()
            if key not in self._items:
                self._queue.append(key)
            self._items[key] = obj
            self._tell_waiting()

    def update(self, obj: Any, /) -> None:
        """The same as :meth:`add`."""
        self.add(obj)

    def delete(self, obj: Any, /) -> None:
        """Remove the object's key from the queue; consumers see no deletion.

        Raises:
            KeyFuncError: the object has no key.
        """
        key = self.key_of(obj)
        with self._lock:
            self._population.written()
            self._items.pop(key, None)

    def replace(self, objs: Iterable[Any], resource_version: str = "", /) -> None:  # noqa: ARG002
        """Drop all queued objects, and queue ``objs`` in their order; if several have one key, the last one wins.

        Raises:
            KeyFuncError: one of the objects has no key; the queue is unchanged.
        """
        items = {self.key_of(obj): obj for obj in objs}
        with self._lock:
            self._population.replaced(len(items))
            self._items = items
            self._queue = deque(items)
            if items:
                self._tell_waiting()

    def resync(self) -> None:
        """Do nothing: every object that the queue knows is still queued."""

    def pop(self, process: PopProcessFunc, /) -> Any:
        """Wait for the next object, call ``process(obj, is_in_initial_list)`` under the lock, and return it.

        Raises:
            FIFOClosedError: the queue is closed and empty.
            Exception: any error that ``process`` raises; the object is removed from the queue all the same.
        """
        with self._lock:
            while True:
                self._wait_until(lambda: self._queue)
                is_in_initial_list = not self._population.has_synced()
                key = self._queue.popleft()
                self._population.handed_out()
                if key in self._items:
                    obj = self._items.pop(key)
                    process(obj, is_in_initial_list)
                    return obj
