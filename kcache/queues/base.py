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
    """Base of the queues.

    A consumer processes an item while it holds the lock: a writer that asks what the consumer knows must not come
    between the removal of an item and its application (kubernetes#27004). The lock is reentrant, so that a process
    function may call the queue, where client-go would deadlock.

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
        """The key under which the queue files an object, a tombstone, or deltas (client-go ``KeyOf``).

        Raises:
            KeyFuncError: there is none.
        """
        return key_of(self._key_func, obj)

    def has_synced(self) -> bool:
        """Whether everything of the first replacement was handed out, or another write came before it.

        While an item is processed this waits, so what was handed out has been processed.
        """
        with self._lock:
            return self._population.has_synced()

    def close(self) -> None:
        """Let every ``pop`` that waits, or would, raise :class:`~kcache.FIFOClosedError`; nothing is dropped."""
        # Under the lock: a consumer between its last look and its wait would sleep for ever (kubernetes#90581).
        with self._lock:
            self._is_closed = True
            self._changed.notify_all()

    def is_closed(self) -> bool:
        """Whether :meth:`close` was called."""
        with self._lock:
            return self._is_closed

    def _wait_until(self, is_ready: Callable[[], object]) -> None:
        """Wait, with the lock held, until ``is_ready`` or the queue is closed with nothing left."""
        while not is_ready():
            if self._is_closed:
                raise FIFOClosedError
            self._is_awaited = True
            self._changed.wait()

    def _tell_waiting(self) -> None:
        """Wake, with the lock held, all that wait; this is called for each write, and mostly nobody does."""
        if self._is_awaited:
            self._is_awaited = False
            self._changed.notify_all()
