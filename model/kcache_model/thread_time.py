"""Clocks of the running thread: its work and its waiting, independent of the load of other processes."""

from __future__ import annotations

import contextlib
import time

_SCHEDULER_STATISTICS = "/proc/thread-self/schedstat"
"""A file of Linux about the thread that reads it: nanoseconds on a processor, nanoseconds in the run queue, slices."""


def own_seconds() -> float:
    """Return a clock, in seconds, that stops while this thread waits for a processor.

    A budget on this clock is spent by slow code and by code that waits, but not by other processes. On systems other
    than Linux, the clock is the processor time of this process: waiting is not counted. Compare two readings.
    """
    queued = _queued_seconds()
    return time.process_time() if queued is None else time.monotonic() - queued


def idle_seconds() -> float:
    """Return a clock, in seconds, that runs only while this thread waits for the outside world: compare two readings.

    Only Linux counts this time; on other systems the result is always 0.
    """
    queued = _queued_seconds()
    return 0.0 if queued is None else time.monotonic() - queued - time.thread_time()


def _queued_seconds() -> float | None:
    """Return the seconds that this thread has waited for a processor; ``None`` if the system does not count them."""
    with contextlib.suppress(OSError, ValueError, IndexError), open(_SCHEDULER_STATISTICS, encoding="ascii") as file:
        return int(file.read().split()[1]) / 1e9
    return None
