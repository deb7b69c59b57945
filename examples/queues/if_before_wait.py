"""A consumer that was woken takes an item without looking again: another one may have taken it."""

from kcache import FIFOClosedError
from kcache.queues import DeltaFIFO


class IfBeforeWait(DeltaFIFO):
    """Waits once."""

    def _wait_until(self, is_ready):
        if not is_ready():
            if not self._is_closed:
                self._changed.wait()
            if self._is_closed and not is_ready():
                raise FIFOClosedError


new_queue = IfBeforeWait
