"""Blocks that the calls of an execution have left open: how they end."""

from __future__ import annotations

from ..runtime.threads.scheduler import Scheduler


def abandon_blocks(driver: object, scheduler: Scheduler) -> None:
    """Drop the ``with`` blocks that no call has ended.

    The generator of such a block runs to its end then. Nothing of that is part of an execution, and no lock refuses to
    be given back.

    Args:
        driver: of the object; one that keeps no blocks is left alone.
        scheduler: of the threads, which have ended.
    """
    abandon = getattr(driver, "abandon", None)
    if abandon is None:
        return
    scheduler.live, scheduler.aborting = False, True
    try:
        abandon()
    finally:
        scheduler.aborting = False
