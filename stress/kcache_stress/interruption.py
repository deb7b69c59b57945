"""Interruption by the user: long loops call :func:`is_interrupted` and end early with their partial results."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_requested = threading.Event()


class Interrupted(KeyboardInterrupt):
    """A child process was ended because the user asked to stop."""


def is_interrupted() -> bool:
    """Whether the user has asked to stop."""
    return _requested.is_set()


@contextmanager
def ending_children() -> Iterator[None]:
    """End all child processes within the context, as if the user asked to stop: their results are not needed."""
    _requested.set()
    try:
        yield
    finally:
        _requested.clear()


@contextmanager
def scratch_folder() -> Iterator[str]:
    """Create a folder, and remove it on exit, even if a signal handler raises at any moment.

    ``tempfile.TemporaryDirectory`` leaves the folder behind if a signal handler raises right after its creation.
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
    """Within the context, let the first SIGINT only ask to stop; a second one raises ``KeyboardInterrupt``, as usual.

    It has no effect outside the main thread, or if SIGINT is ignored or has a handler other than Python's.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def ask(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _requested.set()

    signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _requested.clear()
