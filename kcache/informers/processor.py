"""Distributes notifications among listeners (client-go ``sharedProcessor``)."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from .clock import Clock
from .listener import ProcessorListener
from .notifications import Notification, is_sync


class SharedProcessor:
    """The listeners of an informer, and the threads in which their handlers run.

    Args:
        clock: decides when a resync is due.
        name: of the threads.
    """

    def __init__(self, clock: Clock, name: str) -> None:
        self._clock = clock
        self._name = name
        self._lock = threading.Lock()
        # For each listener, whether a resync that goes on concerns it; before the first one, every listener is due.
        self._is_due: dict[ProcessorListener, bool] = {}
        self._threads: list[threading.Thread] = []
        self._is_running = False
        self._is_stopped = False

    def add_listener(self, listener: ProcessorListener) -> None:
        """Let a listener take part from now on; once all are stopped, it is stopped, too."""
        with self._lock:
            if self._is_stopped:
                listener.stop()
                return
            self._is_due[listener] = True
            if self._is_running:
                self._start(listener)

    def remove_listener(self, listener: ProcessorListener) -> None:
        """Let a listener take part no longer; one that does not is no error."""
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
        """Stop all listeners, and wait for their threads; a handler that is running is waited for."""
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
        """Whether this is asked from within a handler."""
        with self._lock:
            return threading.current_thread() in self._threads

    def distribute(self, notifications: Sequence[Notification]) -> None:
        """Give notifications to all listeners, those of a resync only to listeners for which one is due.

        Whoever calls this lets nobody else call it, and no listener be added, until it returns.
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
        """Note for which listeners a resync is due now; whether there are any."""
        now = self._clock.now()
        with self._lock:
            for listener in self._is_due:
                self._is_due[listener] = listener.should_resync(now)
            return any(self._is_due.values())

    def reschedule(self, resync_check_seconds: float) -> None:
        """Resyncs are looked for at another interval: listeners cannot have them more often than that."""
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
    """How often a listener takes part in resyncs that are looked for every ``check_seconds``; 0 for never."""
    if not requested_seconds or not check_seconds:
        return 0.0
    return max(requested_seconds, check_seconds)
