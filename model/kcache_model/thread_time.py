"""Clocks of the running thread: how long it has worked or waited, whatever other processes do meanwhile."""

from __future__ import annotations

import contextlib
import time

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
