"""Two conditions on a plain lock, which is free while an item is processed: a flag keeps the writers out meanwhile."""

import contextlib
import threading

from guarded_queue import GuardedQueue


class TwoConditions(GuardedQueue):
    """``idle``: nobody is at work. ``filled``: there is something to hand out, or the queue is closed."""

    def __init__(self, key_func, **options):
        super().__init__(key_func, **options)
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._filled = threading.Condition(self._lock)
        self._is_busy = False

    @contextlib.contextmanager
    def _guarded(self):
        with self._lock:
            self._idle.wait_for(lambda: not self._is_busy)
            yield

    def _woken(self, count):
        if count:
            self._filled.notify(count)

    def close(self):
        with self._guarded():
            self._is_closed = True
            self._filled.notify_all()

    def pop(self, process):
        with self._lock:
            while self._is_busy or not (self._content.changes or self._is_closed):
                (self._idle if self._is_busy else self._filled).wait()
            self._is_busy = True
        try:
            return self._hand_out(process)
        finally:
            with self._lock:
                self._is_busy = False
                self._idle.notify_all()
                self._filled.notify_all()


new_queue = TwoConditions
