"""Resync: a store's objects are delivered again periodically (client-go ``Reflector.startResync``)."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator

from .clock import Clock
from .stopping import StopSignal

_logger = logging.getLogger("kcache.informers")


@contextlib.contextmanager
def periodic_resync(
    resync: Callable[[], object],
    seconds: float,
    should_resync: Callable[[], bool] | None,
    clock: Clock,
    stop: StopSignal,
) -> Iterator[None]:
    """Call ``resync`` periodically in a separate thread during the ``with`` block; the block waits for the thread.

    Args:
        resync: is called; its errors are logged.
        seconds: the period; if 0, there are no calls and no thread.
        should_resync: is called before each resync, and decides whether it happens; ``None`` for always.
        clock: the source of waits.
        stop: if it is set, the calls end before the block does.
    """
    if seconds <= 0:
        yield
        return
    done = StopSignal()

    def resync_until_done() -> None:
        while not clock.wait(done, seconds):
            try:
                if should_resync is None or should_resync():
                    resync()
            except Exception:
                _logger.exception("resync failed")

    thread = threading.Thread(target=resync_until_done, name="kcache-resync", daemon=True)
    thread.start()
    revoke = stop.call_on_stop(done.set)
    try:
        yield
    finally:
        revoke()
        done.set()
        thread.join()
