"""A queue.SimpleQueue of tokens, one for each key that waits, beside a dict: who has a token may take a key."""

import queue
import threading

from guarded_queue import GuardedQueue

_KEY, _END = object(), object()


class Tokens(GuardedQueue):
    """The token of the end is put back by whoever draws it; it never lets anybody wait who could take something."""

    def __init__(self, key_func, **options):
        super().__init__(key_func, **options)
        self._lock = threading.Lock()
        self._tokens = queue.SimpleQueue()

    def _guarded(self):
        return self._lock

    def _woken(self, count):
        for _ in range(count):
            self._tokens.put(_KEY)

    def close(self):
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._tokens.put(_END)

    def pop(self, process):
        while True:
            token = self._tokens.get()
            with self._lock:
                if token is _END:
                    self._tokens.put(_END)
                if self._content.changes or token is _END:
                    return self._hand_out(process)


new_queue = Tokens
