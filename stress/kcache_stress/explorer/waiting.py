"""Explanation of a deadlock: who waits for what, held by whom, at which line."""

from __future__ import annotations

import os
import traceback
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import FrameType

from .events import ACQUIRE, JOIN
from .rendering.naming import Names
from .virtual.locks import VirtualLock, VirtualRLock
from .virtual.network import Wakeup
from .virtual.scheduler import HUB, Scheduler
from .virtual.virtual_thread import SetupDeadlockError, VirtualThread

_INSIDE = (os.path.dirname(__file__) + os.sep,)


@dataclass(frozen=True)
class Wait:
    """One thread that cannot go on.

    Attributes:
        thread: its number.
        what: what it waits for.
        where: ``file:line`` of the call, outside the standard library's threading.
        holder: the thread that holds what it waits for; ``None`` if nobody does.
        is_for_itself: whether it holds it itself, and did not make it. What a thread makes and takes twice is a signal,
            as in a Condition: another one gives it back.
        is_kept: whether it is an ``RLock`` of a thread that has ended: nobody else can give that back.
    """

    thread: int
    what: str
    where: str
    holder: int | None
    is_for_itself: bool = False
    is_kept: bool = False

    def __str__(self) -> str:
        return f"thread {self.thread + 1} waits for {self.what} ({self.where})"

    def with_holder(self) -> str:
        """The same, with who holds what it waits for, if anybody does."""
        return str(self) if self.holder is None else f"{self}, held by {_holder(self.holder)}"


def waits_for_ever(error: SetupDeadlockError, root: object, failed: str) -> str:
    """What a call outside the threads waits for in vain, and who holds it.

    Args:
        error: that ended the call.
        root: the object whose locks are named.
        failed: the last call before it that raised; empty if there is none.
    """
    lock, trace = error.waitable, traceback.extract_tb(error.__traceback__)
    if any(frame.name == "wait" and os.path.basename(frame.filename) == "threading.py" for frame in trace):
        return "waits for a notification that never comes"
    if not isinstance(lock, (VirtualLock, VirtualRLock)):
        return "waits for something that nothing will ever bring about"
    names = Names()
    names.root = root
    kept = f"; {failed} had raised before it, and seems to have kept it" if failed else ""
    return f"waits for {names.of(lock)}, held by {_holder(lock.owner)}{kept}"


def waits(scheduler: Scheduler) -> tuple[Wait, ...]:
    """All threads that have not ended, and what each waits for."""
    names: dict[int, str] = {}
    ended = {HUB, *(number for number, thread in scheduler.threads.items() if thread.finished)}
    return tuple(_wait(thread, names, ended) for thread in scheduler.threads.values() if not thread.finished)


def running(scheduler: Scheduler) -> str:
    """``file:line`` where the first thread is that could go on; empty if there is none."""
    threads = (thread for thread in scheduler.threads.values() if not thread.finished and thread.enabled)
    return next((_place(thread)[0] for thread in threads), "")


def cycle(found: tuple[Wait, ...]) -> tuple[int, ...]:
    """Threads of which each waits for what the next one holds; empty if there are none."""
    holder = {wait.thread: wait.holder for wait in found}
    for start in holder:
        path = [start]
        while (following := holder.get(path[-1])) is not None:
            if following in path:
                return tuple(path[path.index(following) :])
            path.append(following)
    return ()


def standstill_text(found: Sequence[Wait], names: Mapping[int, str] | None = None) -> str:
    """Who waits for what and who holds it: the threads that wait for each other, or all if no two do.

    Args:
        found: the threads that wait.
        names: for each thread, what it waits for as the rest of a report calls it.
    """
    named = [replace(wait, what=(names or {}).get(wait.thread, wait.what)) for wait in found]
    circle = cycle(tuple(named))
    chosen = [wait for thread in circle for wait in named if wait.thread == thread] or named
    return ("" if circle else "no thread can go on: ") + "; ".join(wait.with_holder() for wait in chosen)


def _holder(thread: int) -> str:
    return "a call outside the threads" if thread == HUB else f"thread {thread + 1}"


def _wait(thread: VirtualThread, names: dict[int, str], ended: Collection[int]) -> Wait:
    kind, obj, _ = thread.pending or (ACQUIRE, None, None)
    where, in_condition = _place(thread)
    holder, is_for_itself = None, False
    if isinstance(obj, (VirtualLock, VirtualRLock)) and not obj.free:
        holder, is_for_itself = obj.owner, obj.owner == thread.number != obj.maker
    if kind == JOIN:
        return Wait(thread.number, "the end of a thread", where, None)
    if isinstance(obj, Wakeup):
        return Wait(thread.number, obj.what, where, None)
    if in_condition and isinstance(obj, VirtualLock):
        return Wait(thread.number, "a notification that never comes", where, None)
    name = names.setdefault(id(obj), f"lock {chr(ord('A') + len(names) % 26)}")
    is_kept = holder in ended and isinstance(obj, VirtualRLock)
    return Wait(thread.number, name, where, holder, is_for_itself, is_kept)


def _place(thread: VirtualThread) -> tuple[str, bool]:
    """``file:line`` of the innermost frame of the target, and whether it is waiting in a Condition."""
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
        elif not file.startswith(_INSIDE):
            return f"{name}:{frame.f_lineno} in {frame.f_code.co_name}", in_condition
        frame = frame.f_back
    return "?", in_condition
