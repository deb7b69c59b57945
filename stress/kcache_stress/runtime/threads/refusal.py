"""Refusal: the end of an execution in which the code under test does something that the scheduler cannot control."""

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
    "passes a virtual socket or pipe to code that cannot handle it, such as ssl or fcntl: that cannot be scheduled"
)


def is_bypassed(error: BaseException | None) -> bool:
    """Whether an error is EBADF, raised by code outside the harness: the code does not know virtual descriptors."""
    if not (isinstance(error, OSError) and error.errno == errno.EBADF):
        return False
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return not is_harness(frame.f_code.co_filename)


def refuse(scheduler: Scheduler, why: str, frame: FrameType | None) -> NoReturn:
    """End the execution and discard it. The result names the line of ``frame`` in the user's code, and ``why``.

    Raises:
        UncontrolledError: in the harness.
        Aborted: in a thread, which is unwound by it.
    """
    if not scheduler.aborting:
        scheduler.give_up(UncontrolledError(f"{where(frame)} {why}".lstrip()))
        if not scheduler.aborting:
            scheduler.raise_failure()
    raise Aborted


def system_error(number: int) -> OSError:
    """Return the error of a system call that fails with this ``errno``."""
    return OSError(number, os.strerror(number))
