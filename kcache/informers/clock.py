"""Clocks for all code that waits: the real time, or a time that a test advances."""

from __future__ import annotations

import threading
import time
from typing import Protocol

from .stopping import StopSignal


class Clock(Protocol):
    """A source of the time, and of waits (``k8s.io/utils/clock``)."""

    def now(self) -> float:
        """Return the seconds since a fixed moment; never decreases."""
        ...

    def wait(self, stop: StopSignal, seconds: float) -> bool:
        """Wait until ``seconds`` have passed or ``stop`` is set; return whether ``stop`` is set."""
        ...


class RealClock:
    """The time of the machine."""

    def now(self) -> float:
        """Return the seconds of the monotonic clock."""
        return time.monotonic()

    def wait(self, stop: StopSignal, seconds: float) -> bool:
        """Wait until ``seconds`` have passed or ``stop`` is set; return whether ``stop`` is set."""
        return stop.wait(max(0.0, seconds))


class FakeClock:
    """A clock that advances only by :meth:`step`, so that tests of back-off and resync take no time."""

    def __init__(self) -> None:
        self._now = 0.0
        self._changed = threading.Condition()
        self._waiting: list[float] = []

    def now(self) -> float:
        """Return the sum of the seconds passed to :meth:`step` so far."""
        with self._changed:
            return self._now

    def wait(self, stop: StopSignal, seconds: float) -> bool:
        """Wait until the clock was advanced by ``seconds`` or ``stop`` is set; return whether ``stop`` is set."""
        revoke = stop.call_on_stop(self._notify)
        with self._changed:
            until = self._now + seconds
            self._waiting.append(until)
            self._changed.notify_all()
            try:
                self._changed.wait_for(lambda: stop.is_set() or self._now >= until)
            finally:
                if until in self._waiting:
                    self._waiting.remove(until)
                revoke()
        return stop.is_set()

    def step(self, seconds: float) -> None:
        """Advance the clock, and wake the threads whose wait is over."""
        with self._changed:
            self._now += seconds
            # Woken threads no longer count as waiting, even if they have not run yet: `wait_for_waiters` ignores them.
            self._waiting = [until for until in self._waiting if until > self._now]
            self._changed.notify_all()

    def waiting(self) -> tuple[float, ...]:
        """Return the remaining seconds of each waiting thread, ascending."""
        with self._changed:
            return tuple(sorted(until - self._now for until in self._waiting))

    def wait_for_waiters(self, count: int, seconds: float = 10.0) -> bool:
        """Wait, for ``seconds`` of real time, until ``count`` threads wait for this clock; return whether they do."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._waiting) >= count, seconds)

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()
