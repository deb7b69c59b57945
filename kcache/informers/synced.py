"""Wait until caches contain the server's initial list (client-go ``WaitForCacheSync``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .clock import Clock, RealClock
from .stopping import StopSignal

POLL_SECONDS: Final = 0.1
"""The interval at which the functions are called."""


def wait_for_cache_sync(
    stop: StopSignal, *has_synced: Callable[[], bool], seconds: float | None = None, clock: Clock | None = None
) -> bool:
    """Wait until all of ``has_synced`` return true; return false if ``stop`` was set or the time was up before.

    Args:
        stop: ends the wait.
        has_synced: methods of informers, to wait for their stores, or of registrations, to wait for their handlers.
        seconds: the maximum time; ``None`` for no limit.
        clock: the source of the time, and of waits.
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
