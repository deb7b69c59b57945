"""Stop signal for all code that waits (the ``stopCh`` of client-go)."""

from __future__ import annotations

import threading
from collections.abc import Callable


class StopSignal:
    """A signal that is set once, for good; it wakes waiting threads, and runs the registered callbacks.

    A ``threading.Event`` cannot interrupt a thread that reads from a connection: such code registers a callback, which
    closes the connection.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], object]] = []

    def set(self) -> None:
        """Set the signal: wake all waiting threads, and run the callbacks in this thread. Later calls do nothing.

        Raises:
            Exception: the first error of a callback, after all of them were called.
        """
        with self._lock:
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        errors = []
        for callback in callbacks:
            try:
                callback()
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def is_set(self) -> bool:
        """Whether the signal is set."""
        return self._event.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the signal, at most ``seconds``; return whether it is set."""
        return self._event.wait(seconds)

    def call_on_stop(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call ``callback`` when the signal is set, or at once if it is set; return a function that revokes this.

        The callback runs in the thread that sets the signal and must not block.
        """
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return lambda: self._revoke(callback)
        callback()
        return lambda: None

    def _revoke(self, callback: Callable[[], object]) -> None:
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)
