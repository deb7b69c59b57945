"""Ends an execution in which the code under test does what no scheduler controls."""

from __future__ import annotations

import os
import traceback
from types import FrameType
from typing import TYPE_CHECKING, Final, NoReturn

from kcache_model.places import file_name

from .virtual_thread import Aborted, UncontrolledError

if TYPE_CHECKING:
    from .scheduler import Scheduler

_EXPLORER: Final = os.path.dirname(os.path.dirname(__file__))
_LIBRARY: Final = os.path.dirname(os.__file__)


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


def where(frame: FrameType | None) -> str:
    """The first line of a stack that is neither the explorer's nor the standard library's."""
    first = ""
    for inner, line in traceback.walk_stack(frame):
        path = inner.f_code.co_filename
        if not path.startswith(_EXPLORER):
            place = f"{file_name(path)}:{line} in {inner.f_code.co_name}"
            if not path.startswith(_LIBRARY) or "site-packages" in path:
                return place
            first = first or place
    return first
