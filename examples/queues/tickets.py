"""Every call draws a ticket and waits for its turn: the calls take effect in the order in which they came."""

import contextlib
import threading

from guarded_queue import GuardedQueue


class Tickets(GuardedQueue):
    """A consumer that finds nothing steps aside, and draws another ticket when there is something."""

    def __init__(self, key_func, **options):
        super().__init__(key_func, **options)
        self._turns = threading.Condition(threading.Lock())
        self._drawn = 0
        self._served = 0

    @contextlib.contextmanager
    def _guarded(self):
        with self._turns:
            ticket = self._drawn
            self._drawn += 1
            self._turns.wait_for(lambda: self._served == ticket)
        try:
            yield
        finally:
            with self._turns:
                self._served += 1
                self._turns.notify_all()

    def _woken(self, count):
        """Whoever steps aside is woken when the turn ends."""

    def close(self):
        with self._guarded():
            self._is_closed = True

    def pop(self, process):
        while True:
            with self._guarded():
                if self._content.changes or self._is_closed:
                    return self._hand_out(process)
            with self._turns:
                self._turns.wait_for(lambda: self._content.changes or self._is_closed)


new_queue = Tickets
