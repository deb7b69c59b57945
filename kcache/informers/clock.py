"""The time, as everything that waits sees it: the real one, or one that a test moves."""

from __future__ import annotations

import threading
import time
from typing import Protocol

from .stopping import StopSignal


class Clock(Protocol):
    """Tells the time and waits (``k8s.io/utils/clock``)."""

    def now(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        ...

    def wait(self, stop: StopSignal, seconds: float) -> bool:
        """Wait until ``seconds`` have passed or ``stop`` is set; whether it is set."""
        ...


class RealClock:
    """The time of the machine."""

    def now(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()

    def wait(self, stop: StopSignal, seconds: float) -> bool:
        """Wait until ``seconds`` have passed or ``stop`` is set; whether it is set."""
        return stop.wait(max(0.0, seconds))


class FakeClock:
    """A clock that stands still until :meth:`step`: tests of back-off and resync take no time."""

    def __init__(self) -> None:
        self._now = 0.0
        self._changed = threading.Condition()
        self._waiting: list[float] = []

    def now(self) -> float:
        """Seconds that :meth:`step` was given so far."""
        with self._changed:
            return self._now

    def wait(self, stop: StopSignal, seconds: float) -> bool:
        """Wait until the clock was moved on by ``seconds`` or ``stop`` is set; whether it is set."""
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
        """Move the clock on, and wake those whose time has come."""
        with self._changed:
            self._now += seconds
            # They wait no longer, even if they have not run yet: the next call of `wait_for_waiters` is not about them.
            self._waiting = [until for until in self._waiting if until > self._now]
            self._changed.notify_all()

    def waiting(self) -> tuple[float, ...]:
        """For each waiting thread, in how many seconds its time will have come; ascending."""
        with self._changed:
            return tuple(sorted(until - self._now for until in self._waiting))

    def wait_for_waiters(self, count: int, seconds: float = 10.0) -> bool:
        """Wait, in real time, until at least ``count`` threads wait for this clock; whether they do."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._waiting) >= count, seconds)

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()
