"""Each consumer that waits has a lock of its own, which who brings something opens: nobody is woken in vain."""

import threading
from collections import deque

from guarded_queue import GuardedQueue


class OwnLockPerWaiter(GuardedQueue):
    """A waiter enters itself under the lock of the queue, so it cannot be missed."""

    def __init__(self, key_func, **options):
        super().__init__(key_func, **options)
        self._lock = threading.Lock()
        self._waiters = deque()

    def _guarded(self):
        return self._lock

    def _woken(self, count):
        for _ in range(min(count, len(self._waiters))):
            self._waiters.popleft().release()

    def close(self):
        with self._lock:
            self._is_closed = True
            self._woken(len(self._waiters))

    def pop(self, process):
        while True:
            with self._lock:
                if self._content.changes or self._is_closed:
                    return self._hand_out(process)
                waiter = threading.Lock()
                waiter.acquire()
                self._waiters.append(waiter)
            waiter.acquire()


new_queue = OwnLockPerWaiter
