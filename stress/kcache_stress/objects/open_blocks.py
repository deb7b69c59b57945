"""End of ``with`` blocks that the calls of an execution have left open."""

from __future__ import annotations

from ..runtime.threads.scheduler import Scheduler


def abandon_blocks(driver: object, scheduler: Scheduler) -> None:
    """Abandon the ``with`` blocks that no call has ended.

    The generators of the blocks then run to their end. This is not part of the execution: the scheduler is set to abort
    meanwhile, so releasing a lock that is free raises no error.

    Args:
        driver: of the object; if it has no method ``abandon``, nothing is done.
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
