"""Interruption by the user: whatever works for long looks whether it is asked for, and ends with what it has."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_asked = threading.Event()


class Interrupted(KeyboardInterrupt):
    """A child process was ended because the user asked for it."""


def is_interrupted() -> bool:
    """Whether the user has asked to stop."""
    return _asked.is_set()


@contextmanager
def ending_children() -> Iterator[None]:
    """Within it, all child processes end as if the user asked for it: nobody wants their answers any more."""
    _asked.set()
    try:
        yield
    finally:
        _asked.clear()


@contextmanager
def scratch_folder() -> Iterator[str]:
    """A new folder for as long as this is entered, whenever a signal ends it.

    ``tempfile.TemporaryDirectory`` leaves the folder behind if the handler of a signal raises right after it is made.
    """
    import secrets
    import shutil
    import tempfile

    folder = os.path.join(tempfile.gettempdir(), f"kcache-{secrets.token_hex(8)}")
    try:
        os.mkdir(folder, mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def heeding_interrupts() -> Iterator[None]:
    """Within it, the first SIGINT only asks to stop; a second one raises ``KeyboardInterrupt``, as usual.

    It changes nothing in other threads than the main one, nor where SIGINT is somebody else's, or ignored.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def ask(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _asked.set()

    signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _asked.clear()
