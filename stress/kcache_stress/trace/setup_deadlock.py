"""Explanation of a call outside the threads that never returns: the resource that it waits for and the holder."""

from __future__ import annotations

import os
import traceback

from ..engine.scheduling import HUB
from ..engine.waits import holder_text
from ..runtime.threads.locks import VirtualLock, VirtualRLock
from ..runtime.threads.virtual_thread import SetupDeadlockError
from .naming import Names


def waits_for_ever(error: SetupDeadlockError, root: object, called: str, failed: str) -> str:
    """Return the text of the wait of a call outside the threads that never returns, with the holder of the lock.

    Args:
        error: the error that ended the call.
        root: the object whose locks are named.
        called: its name.
        failed: the last call before it that raised an error; empty if there is none.
    """
    lock, trace = error.waitable, traceback.extract_tb(error.__traceback__)
    if any(frame.name == "wait" and os.path.basename(frame.filename) == "threading.py" for frame in trace):
        return "waits for a notification that never comes"
    if not isinstance(lock, (VirtualLock, VirtualRLock)):
        return "waits for something that never happens"
    names = Names(called)
    names.root = root
    if lock.owner == HUB and not failed:
        return f"waits for {names.of(lock)}, which it holds itself, or a call before it has kept"
    suffix = f"; {failed} raised an error before, and seems to have kept the lock" if failed else ""
    return f"waits for {names.of(lock)}, held by {holder_text(lock.owner)}{suffix}"
