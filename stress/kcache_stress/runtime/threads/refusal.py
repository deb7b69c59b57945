"""Ends an execution in which the code under test does what no scheduler controls."""

from __future__ import annotations

import errno
import os
import traceback
from types import FrameType
from typing import TYPE_CHECKING, Final, NoReturn

from ...stacks import is_harness
from .user_place import where
from .virtual_thread import Aborted, UncontrolledError

if TYPE_CHECKING:
    from .scheduler import Scheduler

__all__ = ["BYPASSED", "is_bypassed", "refuse", "system_error", "where"]


BYPASSED: Final = (
    "gives a virtual socket or pipe to code that does not know it, as ssl or fcntl: that cannot be scheduled"
)


def is_bypassed(error: BaseException | None) -> bool:
    """Whether an error says that a descriptor is bad, and code that the harness does not stand for says so."""
    if not (isinstance(error, OSError) and error.errno == errno.EBADF):
        return False
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return not is_harness(frame.f_code.co_filename)


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


def system_error(number: int) -> OSError:
    """The error of a system call that fails with this ``errno``."""
    return OSError(number, os.strerror(number))
