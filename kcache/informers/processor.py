"""Distribution of notifications to listeners (client-go ``sharedProcessor``)."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from .clock import Clock
from .listener import ProcessorListener
from .notifications import Notification, is_sync


class SharedProcessor:
    """The listeners of an informer, and the threads in which their handlers run.

    Args:
        clock: the source of the time, for resyncs.
        name: the prefix of the threads' names.
    """

    def __init__(self, clock: Clock, name: str) -> None:
        self._clock = clock
        self._name = name
        self._lock = threading.Lock()
        # Listener -> whether the current resync concerns it; before the first resync, every listener is due.
        self._is_due: dict[ProcessorListener, bool] = {}
        self._threads: list[threading.Thread] = []
        self._is_running = False
        self._is_stopped = False

    def add_listener(self, listener: ProcessorListener) -> None:
        """Add a listener, and start its thread if the others run; if the processor is stopped, stop the listener."""
        with self._lock:
            if self._is_stopped:
                listener.stop()
                return
            self._is_due[listener] = True
            if self._is_running:
                self._start(listener)

    def remove_listener(self, listener: ProcessorListener) -> None:
        """Remove and stop a listener; a listener that was not added is no error."""
        with self._lock:
            self._is_due.pop(listener, None)
        listener.stop()

    def start(self) -> None:
        """Start the threads of all listeners; later ones start when they are added."""
        with self._lock:
            self._is_running = True
            for listener in self._is_due:
                self._start(listener)

    def stop(self) -> None:
        """Stop all listeners, and wait for their threads, and so for running handlers."""
        with self._lock:
            self._is_running, self._is_stopped = False, True
            listeners, self._is_due = list(self._is_due), {}
            threads = list(self._threads)
        for listener in listeners:
            listener.stop()
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join()

    def owns_current_thread(self) -> bool:
        """Whether the caller runs within a handler."""
        with self._lock:
            return threading.current_thread() in self._threads

    def distribute(self, notifications: Sequence[Notification]) -> None:
        """Pass notifications to all listeners, but notifications of a resync only to listeners with a due resync.

        The caller has to ensure that no other thread calls this or adds a listener until it returns.
        """
        with self._lock:
            is_due = dict(self._is_due)
        if all(is_due.values()):
            changes = notifications
        else:
            changes = [notification for notification in notifications if not is_sync(notification)]
        for listener in is_due:
            listener.add(notifications if is_due[listener] else changes)

    def should_resync(self) -> bool:
        """Record for which listeners a resync is due now; return whether there are any."""
        now = self._clock.now()
        with self._lock:
            for listener in self._is_due:
                self._is_due[listener] = listener.should_resync(now)
            return any(self._is_due.values())

    def reschedule(self, resync_check_seconds: float) -> None:
        """Set a new interval of resync checks: listeners cannot have resyncs more often than that."""
        now = self._clock.now()
        with self._lock:
            for listener in self._is_due:
                listener.schedule_resync(resync_period(listener.requested_resync_seconds, resync_check_seconds), now)

    def _start(self, listener: ProcessorListener) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=listener.run, name=f"{self._name} handler", daemon=True)
        self._threads.append(thread)
        thread.start()


def resync_period(requested_seconds: float, check_seconds: float) -> float:
    """Return the resync period of a listener, at least ``check_seconds``, the interval of checks; 0 for never."""
    if not requested_seconds or not check_seconds:
        return 0.0
    return max(requested_seconds, check_seconds)
