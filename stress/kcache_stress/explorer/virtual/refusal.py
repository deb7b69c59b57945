"""Ends an execution in which the code under test does what no scheduler controls."""

from __future__ import annotations

from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from .user_place import where
from .virtual_thread import Aborted, UncontrolledError

if TYPE_CHECKING:
    from .scheduler import Scheduler

__all__ = ["refuse", "where"]


def refuse(scheduler: Scheduler, why: str, frame: FrameType | None) -> NoReturn:
    """The execution ends here and counts for nothing; the result will name the line at which ``frame`` is, and ``why``.

    Raises:
        UncontrolledError: in the harness.
        Aborted: in a thread, as soon as it is unwound.
    """
    if not scheduler.aborting:
        scheduler.give_up(UncontrolledError(f"{where(frame)} {why}"))
        if not scheduler.aborting:
            scheduler.raise_failure()
    raise Aborted
