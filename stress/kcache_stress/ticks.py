"""Time as those feel it who wait for somebody else's thread on a busy machine."""

from __future__ import annotations

import contextlib
import time

_WORK_SECONDS = 0.001
_SCHEDULER_STATISTICS = "/proc/thread-self/schedstat"
"""Linux: nanoseconds on a processor, nanoseconds of waiting for one, time slices; of the thread that reads it."""


def own_seconds() -> float:
    """A clock that stands still while this thread waits for a processor; elsewhere than on Linux, of processor time.

    A budget on this clock is spent by code that is slow, and by code that waits, but not by other processes.
    """
    queued = _queued_seconds()
    return time.process_time() if queued is None else time.monotonic() - queued


def idle_seconds() -> float:
    """The seconds that this thread has waited for the outside world. Only Linux counts them; elsewhere it is 0."""
    queued = _queued_seconds()
    return 0.0 if queued is None else time.monotonic() - queued - time.thread_time()


def _queued_seconds() -> float | None:
    """The seconds that this thread has waited for a processor; ``None`` if the system does not count them."""
    with contextlib.suppress(OSError, ValueError, IndexError), open(_SCHEDULER_STATISTICS, encoding="ascii") as file:
        return int(file.read().split()[1]) / 1e9
    return None


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
