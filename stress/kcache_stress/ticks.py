"""Time as those feel it who wait for somebody else's thread on a busy machine."""

from __future__ import annotations

import time

_WORK_SECONDS = 0.001


def tick(seconds: float) -> None:
    """Sleep, then use the processor for a moment.

    A thread that only sleeps is woken at once even where everybody else is starved, so its sleeps say nothing about
    whether the others had a chance to run. One that asks for processor time again and again gets no more than its fair
    share; by then the thread that it waits for has had its share, too.
    """
    time.sleep(seconds)
    end = time.thread_time() + _WORK_SECONDS
    while time.thread_time() < end:
        pass
