"""One handler with its own buffer and thread, so that it delays no other handler (client-go ``processorListener``)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence

from .handlers import ResourceEventHandler
from .notifications import Notification, deliver, is_initial


class ProcessorListener:
    """Delivers notifications to a handler, one after another, in the thread of :meth:`run`.

    Args:
        handler: the handler to call.
        requested_resync_seconds: the resync period that the handler requests; 0 for never.
        has_synced: returns whether the initial list was passed to all listeners.
    """

    def __init__(
        self,
        handler: ResourceEventHandler,
        requested_resync_seconds: float,
        has_synced: Callable[[], bool],
    ) -> None:
        self.handler = handler
        self.requested_resync_seconds = requested_resync_seconds
        self._resync_seconds = 0.0
        self._next_resync = 0.0
        self._upstream_has_synced = has_synced
        self._initial_left = 0
        self._buffer: deque[Notification] = deque()  # added since the handler's thread last took notifications
        self._taken: deque[Notification] = deque()  # taken by the handler's thread; no other thread uses it
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._is_awaited = False
        self._is_stopped = False

    def add(self, notifications: Sequence[Notification]) -> None:
        """Append notifications to the buffer; never waits for the handler."""
        with self._lock:
            if self._is_stopped:
                return
            self._initial_left += sum(map(is_initial, notifications))
            self._buffer.extend(notifications)
            if self._is_awaited:
                self._is_awaited = False
                self._changed.notify()

    def run(self) -> None:
        """Deliver until :meth:`stop`. Errors of the handler are logged; the next notification follows at once."""
        try:
            while self._take_all():
                # After stop(), not even the next of the taken notifications may be delivered.
                while self._taken and not self._is_stopped:
                    self._deliver(self._taken.popleft())
        finally:
            self.stop()  # also if a handler ends the thread, as by SystemExit: else the buffer would only grow
            self._taken.clear()

    def stop(self) -> None:
        """Drop all waiting notifications, and deliver no others. A running call of the handler is not interrupted."""
        with self._lock:
            self._is_stopped = True
            self._buffer.clear()
            self._changed.notify()

    def has_synced(self) -> bool:
        """Whether the handler was called for all objects of the initial list (kubernetes#113763)."""
        # This order matters: once upstream has synced, the whole list has been counted here.
        if not self._upstream_has_synced():
            return False
        with self._lock:
            return self._initial_left == 0

    def schedule_resync(self, resync_seconds: float, now: float) -> None:
        """Take part in resyncs every ``resync_seconds`` from ``now`` on; 0 for never."""
        self._resync_seconds = resync_seconds
        self._next_resync = now + resync_seconds

    def should_resync(self, now: float) -> bool:
        """Whether a resync is due; if so, the next one is one period later."""
        if not self._resync_seconds or now < self._next_resync:
            return False
        self._next_resync = now + self._resync_seconds
        return True

    def _take_all(self) -> bool:
        """Wait for notifications, and take all of them with one acquisition of the lock; ``False`` if stopped."""
        with self._lock:
            while not self._is_stopped and not self._buffer:
                self._is_awaited = True
                self._changed.wait()
            self._buffer, self._taken = self._taken, self._buffer
            return not self._is_stopped

    def _deliver(self, notification: Notification) -> None:
        deliver(notification, self.handler)
        if is_initial(notification):
            with self._lock:
                self._initial_left -= 1
