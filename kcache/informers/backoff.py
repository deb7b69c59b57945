"""Back-off: the wait before the next attempt (apimachinery ``wait.NewExponentialBackoffManager``)."""

from __future__ import annotations

import random as random_module

from .clock import Clock, RealClock
from .stopping import StopSignal


class ExponentialBackoff:
    """A delay that grows after each failure, and is reset after a time without failures; defaults as in a reflector.

    Not thread-safe: only one loop of attempts may use it.

    Args:
        initial_seconds: the first delay, before jitter.
        factor: each delay is the previous delay times this factor.
        max_seconds: the maximum delay, before jitter.
        jitter: each delay is prolonged at random, by up to this fraction of the delay.
        reset_seconds: if the last delay began longer ago than this, the next delay is the first again.
        clock: the source of the time, and of waits.
        random: the source of the jitter.
    """

    def __init__(
        self,
        *,
        initial_seconds: float = 0.8,
        factor: float = 2.0,
        max_seconds: float = 30.0,
        jitter: float = 1.0,
        reset_seconds: float = 120.0,
        clock: Clock | None = None,
        random: random_module.Random | None = None,
    ) -> None:
        self._initial_seconds = initial_seconds
        self._factor = factor
        self._max_seconds = max_seconds
        self._jitter = jitter
        self._reset_seconds = reset_seconds
        self._clock = clock or RealClock()
        self._random = random or random_module.Random()
        self._seconds = initial_seconds
        self._last_start = self._clock.now()

    def next_delay(self) -> float:
        """Return the seconds to wait now; the next call returns more, up to the maximum."""
        now = self._clock.now()
        if now - self._last_start > self._reset_seconds:
            self._seconds = self._initial_seconds
        self._last_start = now
        seconds = self._seconds
        self._seconds = min(seconds * self._factor, self._max_seconds)
        return seconds * (1.0 + self._jitter * self._random.random())

    def wait(self, stop: StopSignal) -> bool:
        """Wait for :meth:`next_delay`, or until ``stop`` is set; return whether it is set."""
        return self._clock.wait(stop, self.next_delay())
