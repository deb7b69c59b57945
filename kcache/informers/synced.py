"""Waits until caches show what the server has (client-go ``WaitForCacheSync``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .clock import Clock, RealClock
from .stopping import StopSignal

POLL_SECONDS: Final = 0.1
"""How often the functions are asked."""


def wait_for_cache_sync(
    stop: StopSignal, *has_synced: Callable[[], bool], seconds: float | None = None, clock: Clock | None = None
) -> bool:
    """Wait until all of ``has_synced`` say so at the same time; whether they did before ``stop`` or the time was up.

    Args:
        stop: ends the wait.
        has_synced: of informers, to wait for their stores; of registrations, to wait for their handlers.
        seconds: the most to wait; ``None`` for no limit.
        clock: tells the time.
    """
    clock = clock or RealClock()
    deadline = None if seconds is None else clock.now() + seconds
    while not stop.is_set():
        if all(synced() for synced in has_synced):
            return True
        left = POLL_SECONDS if deadline is None else min(POLL_SECONDS, deadline - clock.now())
        if left <= 0:
            return False
        clock.wait(stop, left)
    return False
