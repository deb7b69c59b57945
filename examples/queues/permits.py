"""A semaphore with one permit for each key that waits; closing adds one that whoever finds nothing passes on."""

import threading

from guarded_queue import GuardedQueue

from kcache import FIFOClosedError


class Permits(GuardedQueue):
    """A consumer needs a permit before it takes the lock."""

    def __init__(self, key_func, **options):
        super().__init__(key_func, **options)
        self._lock = threading.Lock()
        self._permits = threading.Semaphore(0)

    def _guarded(self):
        return self._lock

    def _woken(self, count):
        if count:
            self._permits.release(int(count))

    def close(self):
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._permits.release()

    def pop(self, process):
        self._permits.acquire()
        with self._lock:
            try:
                return self._hand_out(process)
            except FIFOClosedError:
                self._permits.release()
                raise


new_queue = Permits
