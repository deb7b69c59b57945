"""Common part of all queues: one lock, waiting for the next item, and closing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..errors import FIFOClosedError
from ..interfaces import KeyFunc
from ..keys import meta_namespace_key_func
from .keys import key_of
from .population import Population


class WaitingQueue:
    """Base class of the queues.

    A consumer processes an item while it holds the lock. Otherwise a writer that reads the consumer's known objects
    could run between the removal of an item and its application (kubernetes#27004). The lock is reentrant, so that a
    process function may call the queue; in client-go, such a call deadlocks.

    Args:
        key_func: object -> key.
    """

    def __init__(self, key_func: KeyFunc[Any] = meta_namespace_key_func) -> None:
        self._key_func = key_func
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._population = Population()
        self._is_closed = False
        self._is_awaited = False

    def key_of(self, obj: object) -> str:
        """Return the key under which the queue stores an object, a tombstone, or deltas (client-go ``KeyOf``).

        Raises:
            KeyFuncError: the object has no key.
        """
        return key_of(self._key_func, obj)

    def has_synced(self) -> bool:
        """Whether all items of the first replacement were popped, or another write came before it.

        This waits while an item is processed under the lock, so every popped item has been processed.
        """
        with self._lock:
            return self._population.has_synced()

    def close(self) -> None:
        """Let every ``pop`` that waits or would wait raise :class:`~kcache.FIFOClosedError`; no item is dropped."""
        # Under the lock: else a consumer between its check and its wait would sleep forever (kubernetes#90581).
        with self._lock:
            self._is_closed = True
            self._changed.notify_all()

    def is_closed(self) -> bool:
        """Whether :meth:`close` was called."""
        with self._lock:
            return self._is_closed

    def _wait_until(self, is_ready: Callable[[], object]) -> None:
        """Wait until ``is_ready()``; the caller holds the lock. Raises FIFOClosedError if the queue is closed first."""
        while not is_ready():
            if self._is_closed:
                raise FIFOClosedError
            self._is_awaited = True
            self._changed.wait()

    def _tell_waiting(self) -> None:
        """Wake all waiting threads; the caller holds the lock. Each write calls this, so it is cheap if none waits."""
        if self._is_awaited:
            self._is_awaited = False
            self._changed.notify_all()
