"""A clock that is fast: back-off of seconds takes milliseconds, with real threads."""

from __future__ import annotations

import time

from kcache.informers.stopping import StopSignal


class ScaledClock:
    """The time of the machine, some hundred times as fast (a ``kcache.informers.Clock``).

    Args:
        factor: how many of its seconds pass in a real one.
    """

    def __init__(self, factor: float = 500.0) -> None:
        self._factor = factor

    def now(self) -> float:
        """Its seconds."""
        return time.monotonic() * self._factor

    def wait(self, stop: StopSignal, seconds: float) -> bool:
        """Wait until ``seconds`` of its own have passed or ``stop`` is set; whether it is set."""
        return stop.wait(max(0.0, seconds / self._factor))
