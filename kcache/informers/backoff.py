"""Back-off: the wait before the next attempt (apimachinery ``wait.NewExponentialBackoffManager``)."""

from __future__ import annotations

import random as random_module

from .clock import Clock, RealClock
from .stopping import StopSignal


class ExponentialBackoff:
    """Waits longer after each failure, and begins anew after a quiet time; the defaults are a reflector's.

    Not thread-safe: one loop of attempts owns it.

    Args:
        initial_seconds: the first delay, before jitter.
        factor: by which each delay exceeds the one before.
        max_seconds: no delay exceeds it, before jitter.
        jitter: each delay is prolonged at random, by up to this part of it.
        reset_seconds: once the last delay began longer ago than this, the next one is the first again.
        clock: tells the time and waits.
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
        """The seconds to wait now; the next call gives more."""
        now = self._clock.now()
        if now - self._last_start > self._reset_seconds:
            self._seconds = self._initial_seconds
        self._last_start = now
        seconds = self._seconds
        self._seconds = min(seconds * self._factor, self._max_seconds)
        return seconds * (1.0 + self._jitter * self._random.random())

    def wait(self, stop: StopSignal) -> bool:
        """Wait for :meth:`next_delay`, or until ``stop`` is set; whether it is set."""
        return self._clock.wait(stop, self.next_delay())
