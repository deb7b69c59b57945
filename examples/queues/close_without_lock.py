"""``close`` sets its flag and wakes the consumers without the queue's lock.

A consumer that has just looked, and does not wait yet, sleeps for ever: kubernetes#90581.
"""

import threading

from kcache.queues import DeltaFIFO


class Signal:
    """A condition that can be notified without its lock, as Go's can."""

    def __init__(self, lock):
        self._lock = lock
        self._waiters = []

    def wait(self):
        waiter = threading.Lock()
        waiter.acquire()
        self._waiters.append(waiter)
        self._lock.release()
        waiter.acquire()
        self._lock.acquire()

    def notify_all(self):
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.release()


class CloseWithoutLock(DeltaFIFO):
    """Wakes who waits already, and nobody else."""

    def __init__(self, key_func, **options):
        super().__init__(key_func, **options)
        self._changed = Signal(self._lock)

    def close(self):
        self._is_closed = True
        self._changed.notify_all()


new_queue = CloseWithoutLock
