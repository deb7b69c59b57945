"""Keys that wait for a worker (client-go ``util/workqueue``)."""

from __future__ import annotations

import threading


class WorkQueue:
    """Hands each key to one worker at a time, in the order in which keys came.

    A key that waits already is not added twice. One that comes back while a worker has it waits until the worker is
    :meth:`done`: whatever has changed in between is seen, and no two workers ever have the same key.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[str, None] = {}  # in order
        self._in_work: set[str] = set()
        self._again: set[str] = set()
        self._is_shut_down = False

    def add(self, key: str) -> None:
        """Let a key wait for a worker; does nothing after :meth:`shut_down`."""
        with self._changed:
            if self._is_shut_down:
                return
            if key in self._in_work:
                self._again.add(key)
            else:
                self._waiting[key] = None
                self._changed.notify()

    def get(self) -> str | None:
        """Wait for a key, which is the caller's until :meth:`done`; ``None`` after :meth:`shut_down`."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_shut_down)
            if self._is_shut_down:
                return None
            key = next(iter(self._waiting))
            del self._waiting[key]
            self._in_work.add(key)
            return key

    def done(self, key: str) -> None:
        """Give back a key that :meth:`get` returned."""
        with self._changed:
            self._in_work.discard(key)
            if key in self._again:
                self._again.discard(key)
                self._waiting[key] = None
                self._changed.notify()

    def shut_down(self) -> None:
        """Drop what waits, and let every :meth:`get` return ``None``."""
        with self._changed:
            self._is_shut_down = True
            self._waiting.clear()
            self._changed.notify_all()
