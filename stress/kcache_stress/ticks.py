"""Time measure for waiting on other threads, which accounts for the load of a busy machine."""

from __future__ import annotations

import time

_WORK_SECONDS = 0.001


def tick(seconds: float) -> None:
    """Sleep, then use the processor for a moment.

    A thread that only sleeps is woken at once even if all other threads are starved, so its sleeps do not show whether
    the other threads had a chance to run. A thread that uses the processor again and again gets no more than its fair
    share; by then the awaited thread has had its share, too.
    """
    time.sleep(seconds)
    end = time.thread_time() + _WORK_SECONDS
    while time.thread_time() < end:
        pass
