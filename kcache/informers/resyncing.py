"""Resync: a store's objects are shown again from time to time (client-go ``Reflector.startResync``)."""

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
    """Within the ``with`` block, call ``resync`` in a thread of its own; that thread is gone after the block.

    Args:
        resync: is called; what it raises is logged.
        seconds: the period; 0 for never, then there is no thread.
        should_resync: is asked each time first; ``None`` for always.
        clock: waits.
        stop: ends the calls before the block ends.
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
