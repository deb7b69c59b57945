"""Waits at the end of a deadlocked execution: for each actor the resource, its holder and the source line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .scheduling import HUB


@dataclass(frozen=True)
class Wait:
    """Wait of one actor that cannot go on.

    Attributes:
        thread: the number of the actor.
        what: the name of the resource that the actor waits for.
        where: ``file:line`` of the call, outside the standard library's threading.
        holder: the number of the actor that holds the resource; ``None`` if no actor holds it.
        is_for_itself: whether the waiting actor holds the resource itself, and did not create it. A lock that an actor
            creates and acquires twice is a signal, as in a Condition: another actor releases it.
        is_kept: whether the resource is an ``RLock`` of a thread that has ended: no other thread can release it.
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
        """Return the text of the wait, with the holder of the resource if there is one."""
        return str(self) if self.holder is None else f"{self}, held by {holder_text(self.holder)}"


def cycle(waits: tuple[Wait, ...]) -> tuple[int, ...]:
    """Return a cycle of actors, each waiting for a resource that the next one holds; empty if there is none."""
    holder = {wait.thread: wait.holder for wait in waits}
    for start in holder:
        path = [start]
        while (following := holder.get(path[-1])) is not None:
            if following in path:
                return tuple(path[path.index(following) :])
            path.append(following)
    return ()


def standstill_text(waits: Sequence[Wait], names: Mapping[int, str] | None = None) -> str:
    """Describe the waits: only the actors that wait for each other, or all actors if there is no cycle.

    Args:
        waits: the waits of all actors.
        names: for each actor, the name of its resource in the rest of the report.
    """
    named = [replace(wait, what=(names or {}).get(wait.thread, wait.what)) for wait in waits]
    circle = cycle(tuple(named))
    chosen = [wait for thread in circle for wait in named if wait.thread == thread] or named
    return ("" if circle else "no thread can go on: ") + "; ".join(wait.with_holder() for wait in chosen)


def holder_text(thread: int) -> str:
    """Return the name of a holder for a report."""
    return "a call outside the threads" if thread == HUB else f"thread {thread + 1}"
