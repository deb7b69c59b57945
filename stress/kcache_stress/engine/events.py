"""Events: the visible steps of virtual threads, and which of them depend on each other.

Where threads may be switched before every access, each event is a step of its own. Where they may not, a step begins
with an event that is no access and takes in the accesses that follow.

An event is a tuple ``(thread, kind, obj, slot)``; a trace is the list of events of one execution in the order in which
they happened. Tuples, not a dataclass: a search makes millions.
"""

from __future__ import annotations

from array import array
from collections import deque
from types import SimpleNamespace
from typing import Final, TypeAlias

from .weak_objects import hold, weakly

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
"""Starting a thread; the object is its handle, the slot its number; ``None`` if it was started before."""
JOIN = 7
"""Waiting for the end of a thread, which is a RELEASE of its handle; the slot says whether it had been started."""
PAUSE = 8
"""The beginning of a step of several accesses; what it will do is not known yet."""
BLOCKED = 9
"""Not a step: at the end of an execution, a thread still waits to ACQUIRE."""

KIND_NAMES = ("read", "write", "acquire", "try", "query", "release", "spawn", "join", "pause", "blocked")

Event: TypeAlias = "tuple[int, int, object, object]"
Trace: TypeAlias = "list[Event]"
Pending: TypeAlias = "tuple[int, object, object]"
"""``(kind, obj, slot)``: what a paused thread does next."""


class Imprecise:
    """The slot of an access that is not one atomic step on one known place: the whole object, and what it reaches.

    What such an access does is not known exactly, so that a search in which another thread's access to the same is
    unordered with it proves nothing.

    Attributes:
        where: ``FILE:LINE`` of the instrumented code that does it.
        what: what is not known there.
        reach: ids of the objects that it can get hold of; ``None`` for all that there are.
        is_contained: it touches nothing else; otherwise all code that cannot be seen may touch the same.
    """

    __slots__ = ("is_contained", "reach", "what", "where")

    def __init__(
        self, where: str, what: str, reach: frozenset[int] | None = frozenset(), *, is_contained: bool = False
    ) -> None:
        self.where = where
        self.what = what
        self.reach = reach
        self.is_contained = is_contained

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class Together:
    """The object and the slot of an event that touches several places in one step: the steps of C are such.

    Were each of them an event of its own, others could come in between two of them, and what was reported first would
    have happened last.

    Attributes:
        parts: what is touched, each place once.
    """

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Pending, ...]) -> None:
        self.parts = parts


COMPOUND: Final = frozenset({Imprecise, Together})
"""The types of the slots of accesses that are more than one on one known place."""


def parts_of(kind: int, obj: object, slot: object) -> tuple[Pending, ...]:
    """What an access touches."""
    return slot.parts if type(slot) is Together else ((kind, obj, slot),)


def imprecise_slots(event: Event) -> list[Imprecise]:
    """What an event does not know exactly."""
    return [slot for _, _, slot in parts_of(event[1], event[2], event[3]) if type(slot) is Imprecise]


class _Unknown:
    """What code that cannot be seen may touch beside its arguments: all such code may touch the same."""

    __slots__ = ()


UNKNOWN: Final = _Unknown()
"""The object of an event that stands for a stretch of code that cannot be seen; its slot is :class:`Imprecise`."""

THREADS: Final = object()
"""The object of a QUERY that asks which threads there are."""

namespaces: Final[dict[int, int]] = {}
"""id of an object -> id of its ``__dict__``, once somebody got hold of that: both are then one place.

One for the process, as is the execution: :meth:`Scheduler.reset` empties it.
"""

WHOLE = "in C"
"""The slot of an access by a method in C. kcache cannot see which attributes the method touches."""

_CONTAINERS = (dict, list, set, deque, bytearray, array, BaseException, SimpleNamespace)
"""Containers, and what shows its arguments or all its attributes."""
_IS_CONTAINER: dict[type, bool] = {}
_TAKEN_AS_A_WHOLE: set[type] = set()


def identity(obj: object) -> int:
    """The id that stands for an object, and for the dictionary of its attributes if that is known to somebody."""
    return namespaces.get(id(obj), id(obj)) if namespaces else id(obj)


def unite(obj: object, names: object) -> None:
    """From now on an object and a dictionary are one place, with all that either was one with before."""
    obj = weakly(obj)
    place, other = identity(names), identity(obj)
    for found in [found for found, of in namespaces.items() if of == other]:
        namespaces[found] = place
    namespaces[other] = namespaces[id(obj)] = namespaces[id(names)] = place


def take_as_a_whole(kind: type) -> None:
    """Let each object of a type be one place: its fields are not known."""
    _IS_CONTAINER[kind] = True
    _TAKEN_AS_A_WHOLE.add(kind)
    hold(kind)


def forget_types() -> None:
    """Let the classes die that were looked at: with each goes the copy of its module, as large as what that imports."""
    _IS_CONTAINER.clear()
    _IS_CONTAINER.update(dict.fromkeys(_TAKEN_AS_A_WHOLE, True))


def location(obj: object, slot: object) -> object:
    """What two accesses must share to depend on each other: an attribute of an object, or a container as a whole.

    A container counts as a whole because a write under one key moves others: the order of a dict, the positions of a
    list. Coarse is sound: it can only add executions. An :class:`Imprecise` access to an object is one to each of its
    attributes: whoever compares locations has to see to that.
    """
    if namespaces and id(obj) in namespaces:
        return namespaces[id(obj)]
    whole = _IS_CONTAINER.get(type(obj))
    if whole is None:
        # `isinstance` may run code of the object.
        whole = _IS_CONTAINER[type(obj)] = issubclass(type(obj), _CONTAINERS)
    return id(obj) if whole else (id(obj), slot)


def are_dependent(pending: Pending, event: Event) -> bool:
    """Whether executing ``event`` first may change what ``pending`` does, or the other way round.

    ACQUIRE and RELEASE of one lock can both be possible: where a thread releases what it does not hold. Threads get
    their numbers in the order in which they are started.
    """
    kind, obj, slot = pending
    _, other_kind, other, other_slot = event
    if kind == PAUSE:
        return True
    if obj is not other:
        if kind == SPAWN and other_kind == SPAWN:
            return True
        if obj is THREADS or other is THREADS:
            return {kind, other_kind} in ({QUERY, SPAWN}, {QUERY, RELEASE})
        if type(slot) is Together:
            return any(are_dependent(part, event) for part in slot.parts)
        if type(other_slot) is Together:
            return any(are_dependent(pending, (event[0], *part)) for part in other_slot.parts)
        if obj is UNKNOWN:
            return other_kind <= WRITE and kind + other_kind > 0 and _reaches(slot, other)
        if other is UNKNOWN:
            return kind <= WRITE and kind + other_kind > 0 and _reaches(other_slot, obj)
        if not namespaces or identity(obj) != identity(other):
            return False
    if kind <= WRITE:
        if not (other_kind <= WRITE and kind + other_kind > 0):
            return False
        if type(slot) is Imprecise or type(other_slot) is Imprecise:
            return obj is not UNKNOWN or _meet(slot, other_slot)
        return location(obj, slot) == location(other, other_slot)
    if JOIN in (kind, other_kind):
        return SPAWN in (kind, other_kind)
    return not (kind == QUERY and other_kind == QUERY)


def _meet(slot: object, other: object) -> bool:
    """Whether two stretches of code that cannot be seen may touch the same."""
    assert isinstance(slot, Imprecise)
    assert isinstance(other, Imprecise)
    if not (slot.is_contained or other.is_contained) or slot.reach is None or other.reach is None:
        return True
    return not slot.reach.isdisjoint(other.reach)


def _reaches(slot: object, obj: object) -> bool:
    assert isinstance(slot, Imprecise)
    return slot.reach is None or id(obj) in slot.reach or identity(obj) in slot.reach
