"""Explanation of a deadlock: for each waiting thread, the object that it waits for, the holder and the line."""

from __future__ import annotations

import os
from collections.abc import Collection
from types import FrameType

from ..engine.events import ACQUIRE, JOIN, Channel
from ..engine.scheduling import HUB
from ..engine.waits import Wait
from ..stacks import OWN_FILES
from .threads.locks import VirtualLock, VirtualRLock
from .threads.scheduler import Scheduler
from .threads.virtual_thread import VirtualThread


def waits(scheduler: Scheduler) -> tuple[Wait, ...]:
    """Return one :class:`~..engine.waits.Wait` for each thread that has not ended."""
    names: dict[int, str] = {}
    ended = {HUB, *(number for number, thread in scheduler.actors.items() if thread.finished)}
    threads = (thread for thread in scheduler.actors.values() if not (thread.finished or is_environment(thread)))
    return tuple(_wait(thread, names, ended) for thread in threads)


def running(scheduler: Scheduler) -> str:
    """Return the place (``file:line in function``) of the first thread that can go on; empty if no thread can."""
    threads = (thread for thread in scheduler.actors.values() if not thread.finished and thread.enabled)
    return next((_place(thread)[0] for thread in threads), "")


def is_environment(thread: VirtualThread) -> bool:
    """Whether a thread is the clock, or a completion, of an event loop: it waits until it can deliver something."""
    return hasattr(thread.waits_for, "may_deliver")


def _wait(thread: VirtualThread, names: dict[int, str], ended: Collection[int]) -> Wait:
    kind, obj, _ = thread.pending or (ACQUIRE, None, None)
    where, in_condition = _place(thread)
    holder, is_for_itself = None, False
    if isinstance(obj, (VirtualLock, VirtualRLock)) and not obj.free:
        holder, is_for_itself = obj.owner, obj.owner == thread.number != obj.maker
    if kind == JOIN:
        return Wait(thread.number, "the end of a thread", where, None)
    if (what := getattr(obj, "what", None) or getattr(thread.waits_for, "what", None)) is not None:
        return Wait(thread.number, what, getattr(obj, "where", where), None)
    if isinstance(obj, Channel):
        return Wait(thread.number, "an item that is never put into the queue", where, None)
    if in_condition and isinstance(obj, VirtualLock):
        return Wait(thread.number, "a notification that never comes", where, None)
    name = names.setdefault(id(obj), f"lock {chr(ord('A') + len(names) % 26)}")
    is_kept = holder in ended and isinstance(obj, VirtualRLock)
    return Wait(thread.number, name, where, holder, is_for_itself, is_kept)


def _place(thread: VirtualThread) -> tuple[str, bool]:
    """Return ``file:line in function`` of the target's innermost frame, and whether it waits in a Condition."""
    running = thread.greenlet
    frame: FrameType | None = running.gr_frame if running is not None else None
    in_condition = False
    while frame is not None:
        file = frame.f_code.co_filename
        name = os.path.basename(file)
        if (
            name in ("threading.py", "queue.py", "socket.py", "selectors.py", "_pyio.py")
            and "site-packages" not in file
        ):
            in_condition = in_condition or frame.f_code.co_name == "wait"
        elif not file.startswith(OWN_FILES):
            return f"{name}:{frame.f_lineno} in {frame.f_code.co_name}", in_condition
        frame = frame.f_back
    return "?", in_condition
