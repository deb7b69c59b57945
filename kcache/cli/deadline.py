"""Time limit for code that may wait forever, such as a read from a pipe without a writer."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TooLate(Exception):
    """The time is up."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Interrupt the block after ``seconds``; on Windows, and in other threads than the main thread, do nothing.

    Raises:
        TooLate: the time was up.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise TooLate

    began = time.monotonic()
    handler = signal.signal(signal.SIGALRM, interrupt)
    remaining_seconds, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)
        if remaining_seconds:
            signal.setitimer(signal.ITIMER_REAL, max(0.001, remaining_seconds - (time.monotonic() - began)), interval)
