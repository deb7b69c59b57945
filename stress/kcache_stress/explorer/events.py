"""Events: the visible steps of virtual threads, and which of them depend on each other.

Where threads may be switched before every access, each event is a step of its own. Where they may not, a step begins
with an event that is no access and takes in the accesses that follow.

An event is a tuple ``(thread, kind, obj, slot)``; a trace is the list of events of one execution in the order in which
they happened. Tuples, not a dataclass: a search makes millions.
"""

from __future__ import annotations

from array import array
from collections import deque
from typing import TypeAlias

READ = 0
WRITE = 1
ACQUIRE = 2
"""Taking a lock, waiting for it as long as it takes."""
TRY = 3
"""Taking a lock if it is free; also the end of a wait with a timeout. The slot says whether it was taken."""
QUERY = 4
"""Asking whether a lock is held."""
RELEASE = 5
"""Giving a lock back; the slot says whether anybody held it."""
SPAWN = 6
"""Starting a thread; the object is its handle, the slot its number."""
JOIN = 7
"""Waiting for the end of a thread, which is a RELEASE of its handle."""
PAUSE = 8
"""The beginning of a step of several accesses; what it will do is not known yet."""
BLOCKED = 9
"""Not a step: at the end of an execution, a thread still waits to ACQUIRE."""

KIND_NAMES = ("read", "write", "acquire", "try", "query", "release", "spawn", "join", "pause", "blocked")

Event: TypeAlias = "tuple[int, int, object, object]"
Trace: TypeAlias = "list[Event]"
Pending: TypeAlias = "tuple[int, object, object]"
"""``(kind, obj, slot)``: what a paused thread does next."""

_CONTAINERS = (dict, list, set, deque, bytearray, array)
_IS_CONTAINER: dict[type, bool] = {}


def location(obj: object, slot: object) -> object:
    """What two accesses must share to depend on each other: an attribute of an object, or a container as a whole.

    A container counts as a whole because a write under one key moves others: the order of a dict, the positions of a
    list. Coarse is sound: it can only add executions.
    """
    whole = _IS_CONTAINER.get(type(obj))
    if whole is None:
        whole = _IS_CONTAINER[type(obj)] = issubclass(type(obj), _CONTAINERS)  # `isinstance` may run code of the object
    return id(obj) if whole else (id(obj), slot)


def are_dependent(pending: Pending, event: Event) -> bool:
    """Whether executing ``event`` first may change what ``pending`` does, or the other way round.

    ACQUIRE and RELEASE of one lock can both be possible: where a thread releases what it does not hold.
    """
    kind, obj, slot = pending
    _, other_kind, other, other_slot = event
    if kind == PAUSE:
        return True
    if obj is not other:
        return False
    if kind <= WRITE:
        return other_kind <= WRITE and kind + other_kind > 0 and location(obj, slot) == location(other, other_slot)
    if JOIN in (kind, other_kind):
        return False
    return not (kind == QUERY and other_kind == QUERY)
