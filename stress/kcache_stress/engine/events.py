"""Events: the visible steps of actors, and the dependence relation between events.

If actors may be switched before every access, each event is a step of its own. If not, a step begins with an event that
is no access, and includes the accesses that follow.

An event is a tuple ``(actor, kind, obj, slot)``; a trace is the list of events of one execution in the order in which
they happened. Events are tuples, not a dataclass, because a search creates millions of them.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Final, TypeAlias

from .weak_objects import hold, weakly

READ = 0
WRITE = 1
ACQUIRE = 2
"""Acquire a lock; wait for it without a timeout."""
TRY = 3
"""Acquire a lock if it is free; also the end of a wait with a timeout. The slot is whether the lock was acquired."""
QUERY = 4
"""Ask whether a lock is held."""
RELEASE = 5
"""Release a lock; the slot is whether the lock was held."""
SPAWN = 6
"""Start a thread. The object is its handle, the slot its number, or ``None`` if the thread was started before."""
JOIN = 7
"""Wait for the end of a thread, which is a RELEASE of its handle. The slot is whether the thread had been started."""
PAUSE = 8
"""Begin a step of several accesses, which are not known yet."""
BLOCKED = 9
"""Not a step: at the end of an execution, the actor still waits for an ACQUIRE or a JOIN."""

KIND_NAMES = ("read", "write", "acquire", "try", "query", "release", "spawn", "join", "pause", "blocked")

Event: TypeAlias = "tuple[int, int, object, object]"
Trace: TypeAlias = "list[Event]"
Pending: TypeAlias = "tuple[int, object, object]"
"""``(kind, obj, slot)``: the next event of a paused actor."""


class UnknownAccess:
    """Slot of an imprecise access, which may touch any part of its object and of the objects that it reaches.

    The exact accesses are not known. If another actor's access to the same place is not ordered with an imprecise
    access, the search proves nothing.

    Attributes:
        where: ``FILE:LINE`` of the instrumented code that makes the access.
        what: the unknown part, as text.
        reach: ids of the objects that the access can reach; ``None`` for all objects.
        is_contained: whether the access touches nothing else; if not, it may touch the same places as all other
            opaque code (:data:`UNKNOWN`).
        roots: the objects from which it reaches the others, kept alive: an object that dies may hand on its id.
    """

    __slots__ = ("is_contained", "reach", "roots", "what", "where")

    def __init__(
        self,
        where: str,
        what: str,
        reach: frozenset[int] | None = frozenset(),
        *,
        is_contained: bool = False,
        roots: Sequence[object] = (),
    ) -> None:
        self.where = where
        self.what = what
        self.reach = reach
        self.is_contained = is_contained
        self.roots = roots

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class AtomicAccesses:
    """Object and slot of an event that touches several places in one step, as functions in C do.

    If each access were an event of its own, other actors could be switched to between two of them, and the access that
    was reported first would have happened last.

    Attributes:
        parts: the single accesses, one for each place.
        enabled_by: the actor whose event has made this event possible: the other order of the two does not exist;
            ``None`` if there is no such event.
    """

    __slots__ = ("enabled_by", "parts")

    def __init__(self, parts: tuple[Pending, ...], enabled_by: int | None = None) -> None:
        self.parts = parts
        self.enabled_by = enabled_by


class Channel:
    """Base class of queues whose items are put and taken in one step each.

    RELEASE puts an item, ACQUIRE takes the first one, TRY takes it if there is one, and QUERY asks whether there is
    one. The slot of an event that puts or takes an item is the number of the item, never 0; it is 0 if TRY fails.

    A lock and a container would be sound, too, but then each put conflicts with each take. Here a take depends on the
    put of its item, whose order cannot be changed, and on other takes. Prior art: the order of receives in checkers of
    programs with messages.
    """

    __slots__ = ()


def frees_lock(kind: int, obj: object) -> bool:
    """Whether an event releases a lock. Its order matters less than that of other events: who waits does not see it."""
    return kind == RELEASE and not issubclass(type(obj), Channel)


COMPOUND: Final = frozenset({UnknownAccess, AtomicAccesses})
"""Types of the slots of accesses that are not one access to one known place."""


def parts_of(kind: int, obj: object, slot: object) -> tuple[Pending, ...]:
    """Return the single accesses of an event."""
    return slot.parts if type(slot) is AtomicAccesses else ((kind, obj, slot),)


def imprecise_slots(event: Event) -> list[UnknownAccess]:
    """Return the imprecise slots of an event."""
    return [slot for _, _, slot in parts_of(event[1], event[2], event[3]) if type(slot) is UnknownAccess]


class _Unknown:
    """Place for everything that opaque code may touch beside its arguments. All opaque code shares this place.

    Code is opaque if the instrumentation does not see its accesses.
    """

    __slots__ = ()


UNKNOWN: Final = _Unknown()
"""The object of an event that stands for a call of opaque code; its slot is an :class:`UnknownAccess`."""

THREADS: Final = object()
"""The object of a QUERY for the list of threads."""

namespaces: Final[dict[int, int]] = {}
"""id of an object -> id of its ``__dict__``, if code has obtained the ``__dict__``: both are then one place.

There is one table for the process, because there is one execution at a time. :meth:`Scheduler.reset` empties it.
"""

WHOLE = "in C"
"""The slot of an access by a method in C. kcache cannot see which attributes the method touches."""

_CONTAINERS = (dict, list, set, deque, bytearray, array, BaseException, SimpleNamespace)
"""Containers, and types that expose all their arguments or attributes."""
_IS_CONTAINER: dict[type, bool] = {}
_TAKEN_AS_A_WHOLE: set[type] = set()


def identity(obj: object) -> int:
    """Return the id that stands for an object, and for its ``__dict__`` if code has obtained it."""
    return namespaces.get(id(obj), id(obj)) if namespaces else id(obj)


def unite(obj: object, names: object) -> None:
    """Treat an object and a dictionary as one place from now on, with all places that either was united with."""
    obj = weakly(obj)
    place, other = identity(names), identity(obj)
    for known in [known for known, of in namespaces.items() if of == other]:
        namespaces[known] = place
    namespaces[other] = namespaces[id(obj)] = namespaces[id(names)] = place


def take_as_a_whole(kind: type) -> None:
    """Treat each object of a type as one place, because its fields are not known."""
    _IS_CONTAINER[kind] = True
    _TAKEN_AS_A_WHOLE.add(kind)
    hold(kind)


def forget_types() -> None:
    """Drop the references to classes, so that the copies of their modules and of their imports can be freed."""
    _IS_CONTAINER.clear()
    _IS_CONTAINER.update(dict.fromkeys(_TAKEN_AS_A_WHOLE, True))


def location(obj: object, slot: object) -> object:
    """Return the location of an access: an attribute of an object, or a container as a whole.

    Two accesses depend on each other only if their locations are equal. A container is one location because a write
    under one key affects the others: the order of a dict, the positions of a list. A coarse location is sound: it can
    only add executions. An :class:`UnknownAccess` to an object is an access to each of its attributes; the caller that
    compares locations must handle this case.
    """
    if namespaces and id(obj) in namespaces:
        return namespaces[id(obj)]
    whole = _IS_CONTAINER.get(type(obj))
    if whole is None:
        # Not `isinstance`: it may run code of the object.
        whole = _IS_CONTAINER[type(obj)] = issubclass(type(obj), _CONTAINERS)
    return id(obj) if whole else (id(obj), slot)


def are_dependent(pending: Pending, event: Event) -> bool:
    """Whether ``pending`` and ``event`` depend on each other: one may change the effect of the other.

    ACQUIRE and RELEASE of one lock may both be enabled, because a thread can release a lock that it does not hold. Two
    SPAWNs depend on each other because threads are numbered in the order in which they are started.
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
        if type(slot) is AtomicAccesses:
            return any(are_dependent(part, event) for part in slot.parts)
        if type(other_slot) is AtomicAccesses:
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
        if type(slot) is UnknownAccess or type(other_slot) is UnknownAccess:
            return obj is not UNKNOWN or _meet(slot, other_slot)
        return location(obj, slot) == location(other, other_slot)
    if JOIN in (kind, other_kind):
        return SPAWN in (kind, other_kind)
    if kind != other_kind and kind in _OF_ITEMS and other_kind in _OF_ITEMS and issubclass(type(obj), Channel):
        return False  # both can happen: then the item that is taken is not the one that is put
    return not (kind == QUERY and other_kind == QUERY)


_OF_ITEMS: Final = frozenset({ACQUIRE, RELEASE})


def _meet(slot: object, other: object) -> bool:
    """Whether two calls of opaque code may touch the same place."""
    assert isinstance(slot, UnknownAccess)
    assert isinstance(other, UnknownAccess)
    if not (slot.is_contained or other.is_contained) or slot.reach is None or other.reach is None:
        return True
    return not slot.reach.isdisjoint(other.reach)


def _reaches(slot: object, obj: object) -> bool:
    assert isinstance(slot, UnknownAccess)
    return slot.reach is None or id(obj) in slot.reach or identity(obj) in slot.reach
