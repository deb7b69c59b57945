"""Waits at the end of an execution in which nobody can go on: who waits for what, held by whom, at which line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .scheduling import HUB


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
        return str(self) if self.holder is None else f"{self}, held by {holder_text(self.holder)}"


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


def holder_text(thread: int) -> str:
    """Who holds something, as a report says it."""
    return "a call outside the threads" if thread == HUB else f"thread {thread + 1}"
