"""The happens-before relation of a trace, and its reversible races.

Two events are ordered if one actor performed both, if they depend on each other (:mod:`.events`), or transitively. A
race is a pair of dependent events of different actors, with no event between them in the happens-before relation, that
could have happened the other way round.
Vector clocks after C. Fidge and F. Mattern (1988); races as source-DPOR needs them (P. Abdulla et al.: Optimal Dynamic
Partial Order Reduction, 2014).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from types import BuiltinFunctionType, FunctionType, MethodType

from .events import (
    ACQUIRE,
    BLOCKED,
    COMPOUND,
    JOIN,
    READ,
    RELEASE,
    SPAWN,
    THREADS,
    TRY,
    UNKNOWN,
    WRITE,
    AtomicAccesses,
    Channel,
    Pending,
    Trace,
    UnknownAccess,
    identity,
    location,
    namespaces,
    parts_of,
)
from .weak_objects import kind_of, original

Clock = tuple[int, ...]
"""actor -> the number of trace events up to and including the last event of that actor that happens before."""
_SLOT = itemgetter(3)


@dataclass
class HappensBefore:
    """Happens-before relation of a trace.

    Attributes:
        clocks: for each event, the clock of its actor after the event; the entry of the actor itself is its last
            visible event.
        visible: for each event, whether another actor could notice when it happens.
        races: pairs (earlier, later) of positions.
    """

    clocks: list[Clock]
    visible: bytearray
    races: list[tuple[int, int]] = field(default_factory=list)

    def ordered(self, earlier: int, thread: int, later: int) -> bool:
        """Whether the event at ``earlier``, of actor ``thread``, happens before the event at ``later``."""
        return self.clocks[later][thread] > earlier


class _Location:
    __slots__ = ("readers", "written")

    def __init__(self) -> None:
        self.written = -1
        self.readers: dict[int, int] = {}


class _Lock:
    """Positions of the last acquisition and release of a lock (-1 if there was none), and of the looks since then.

    Looks are events that leave the lock unchanged: QUERYs, failed TRYs, RELEASEs of a lock that is not held. The handle
    of a thread is a lock that is acquired when the thread is started, and released when the thread ends.
    """

    __slots__ = ("acquired", "looks", "released")

    def __init__(self) -> None:
        self.acquired = -1
        self.released = -1
        self.looks: list[int] = []

    def see(self, position: int, trace: Trace) -> tuple[list[int], list[int]]:
        """Take note of an event; return the events that may race with this event, and those that happen before it."""
        _, kind, _, slot = trace[position]
        taken = kind == ACQUIRE or (kind == TRY and slot) or (kind == SPAWN and slot is not None)
        if kind == BLOCKED:
            candidates, ordered = [self.acquired], []
        elif kind == ACQUIRE:
            candidates, ordered = [self.acquired, *self.looks], [self.released, *self.looks]
        elif kind == RELEASE and slot:
            candidates = ordered = [self.acquired, *self.looks]
        elif taken:
            candidates = ordered = [self.acquired, self.released, *self.looks]
        elif kind == JOIN and slot:
            candidates, ordered = [self.acquired], [self.acquired, self.released]
        else:
            candidates = ordered = [self.acquired, self.released]
            self.looks.append(position)
        if taken:
            self.acquired, self.looks = position, []
        elif kind == RELEASE and slot:
            self.released, self.looks = position, []
        return candidates, ordered


class _Channel:
    """Positions of the last put and the last take of a channel, and of the looks since each of them.

    Attributes:
        items: the number of an item that was put and not taken -> the position of its put.
    """

    __slots__ = ("before_put", "before_take", "items", "last_put", "last_take")

    def __init__(self) -> None:
        self.last_put = self.last_take = -1
        self.items: dict[object, int] = {}
        self.before_put: list[int] = []
        self.before_take: list[int] = []

    def see(self, position: int, trace: Trace) -> tuple[list[int], list[int]]:
        """Take note of an event; return the events that may race with this event, and those that happen before it.

        A take waits for the put of its item, so the other order of the two does not exist. TRY does not wait.
        """
        _, kind, _, slot = trace[position]
        if kind == BLOCKED:
            return [self.last_take], []
        if kind == RELEASE:
            candidates = ordered = [self.last_put, *self.before_put]
            self.last_put, self.before_put, self.items[slot] = position, [], position
        elif kind == ACQUIRE or slot:
            of_item = self.items.pop(slot, -1)
            candidates = [self.last_take, *self.before_take]
            ordered = [*candidates, of_item]
            if kind == TRY:
                candidates = ordered
            self.last_take, self.before_take = position, []
        else:
            candidates = ordered = [self.last_put, self.last_take]
            self.before_put.append(position)
            self.before_take.append(position)
        return candidates, ordered


def happens_before(trace: Trace, threads: int, first: int = 0) -> HappensBefore:
    """Compute the happens-before relation and the races of a trace; O(length * actors) and a little for each race.

    Args:
        trace: the events; BLOCKED events come last.
        threads: number of actors.
        first: races whose later event is before this position are left out.
    """
    shared, places_of = _places_of(trace)
    count = len(trace)
    clocks: list[Clock] = [()] * count
    visible = bytearray(count)
    result = HappensBefore(clocks, visible)
    knowledge = [[0] * threads for _ in range(threads)]
    last: list[Clock] = [(0,) * threads] * threads
    locations: defaultdict[object, _Location] = defaultdict(_Location)
    locks: dict[int, _Lock | _Channel] = {}
    racing: list[int] | None
    for position, (thread, kind, obj, slot) in enumerate(trace):
        if kind <= WRITE and shared is not None and type(slot) is not AtomicAccesses:
            if id(obj) not in shared:
                clocks[position] = last[thread]  # a place of one actor: the access is ordered with no other actor
                continue
            known = knowledge[thread]
            racing = _on_location(locations[location(obj, slot)], position, trace, clocks, known, kind)
        elif kind <= WRITE:
            known = knowledge[thread]
            positions: set[int] = set()
            touched = [(where, part[0]) for part in parts_of(kind, obj, slot) for where in places_of(*part[1:])]
            if not touched:
                clocks[position] = last[thread]
                continue
            for where, how in touched:
                positions.update(_on_location(locations[where], position, trace, clocks, known, how) or ())
            enabled_by = slot.enabled_by if type(slot) is AtomicAccesses else None
            racing = sorted(other for other in positions if trace[other][0] != enabled_by)
        elif obj is None:
            clocks[position] = last[thread]
            continue
        else:
            known = knowledge[thread]
            lock = locks.get(id(obj))
            if lock is None:
                lock = locks[id(obj)] = _Channel() if issubclass(type(obj), Channel) else _Lock()
            candidates, ordered = lock.see(position, trace)
            racing = [
                other
                for other in candidates
                if other >= 0 and trace[other][0] != thread and known[trace[other][0]] <= other
            ]
            for other in ordered:
                if other >= 0:
                    _join(known, clocks[other])
            for where, how in _on_census(kind, obj, slot):
                racing += _on_location(locations[where], position, trace, clocks, known, how) or ()
        visible[position] = 1
        known[thread] = position + 1
        clocks[position] = last[thread] = tuple(known)
        if kind == SPAWN and slot is not None:
            assert isinstance(slot, int)
            _join(knowledge[slot], clocks[position])
            last[slot] = tuple(knowledge[slot])
        if racing and position >= first:
            if len(racing) > 1:
                racing = _latest(racing, trace, clocks)
            result.races += [(other, position) for other in racing]
    return result


def _places_of(trace: Trace) -> tuple[set[int] | None, Callable[[object, object], Sequence[object]]]:
    """Return the ids of shared objects, and a function from one part of an access to the shared places it touches.

    The set is ``None`` if a part may touch several places, or a place under another id: if an access is imprecise, or
    if :data:`~.events.namespaces` is in use. The function is then the only source.
    """
    accesses: list[tuple[int, Pending]] = []
    if namespaces or not COMPOUND.isdisjoint(map(type, map(_SLOT, trace))):
        accesses += [
            (thread, part) for thread, kind, obj, slot in trace if kind <= WRITE for part in parts_of(kind, obj, slot)
        ]
    if not namespaces and not any(type(slot) is UnknownAccess for _, (_, _, slot) in accesses):
        objects = _shared_objects([(thread, *part) for thread, part in accesses] or trace)
        return objects, lambda obj, slot: (location(obj, slot),) if id(obj) in objects else ()
    imprecise = [(thread, obj, slot) for thread, (_, obj, slot) in accesses if isinstance(slot, UnknownAccess)]
    touched = {identity(obj) for _, (_, obj, _) in accesses}
    reached_by: dict[int, int] = {}
    for thread, _, slot in imprecise:  # an object that two actors reach imprecisely is a place, too
        touched |= {key for key in slot.reach or () if reached_by.setdefault(key, thread) != thread}
    coarse: set[int] = {identity(obj) for _, obj, _ in imprecise}
    reached: dict[int, tuple[int, ...]] = {}
    for _, _, slot in imprecise:
        reach: set[int] = touched if slot.reach is None else {namespaces.get(key, key) for key in slot.reach} & touched
        own = () if slot.is_contained else (id(UNKNOWN),)
        reached[id(slot)] = (*own, *sorted(reach - {id(UNKNOWN)}))
        coarse |= reach
    users: dict[int, set[int]] = {}
    written: set[int] = set()
    for thread, (kind, obj, touching) in accesses:
        for key in reached[id(touching)] if obj is UNKNOWN else (identity(obj),):
            users.setdefault(key, set()).add(thread)
            if kind:
                written.add(key)
    shared = {key for key in written if len(users[key]) > 1}

    def places_of(obj: object, slot: object) -> Sequence[object]:
        if obj is UNKNOWN:
            return [place for place in reached[id(slot)] if place in shared]
        place = identity(obj)
        if place not in shared:
            return ()
        return (place,) if place in coarse and not _is_fixture(obj, slot) else (location(obj, slot),)

    return None, places_of


def _is_fixture(obj: object, slot: object) -> bool:
    """Whether an attribute is a method, or holds a function, a class or a lock.

    Opaque code is assumed not to change these attributes. Otherwise reading the attribute of a lock would conflict with
    the opaque code that is called under the lock.
    """
    if type(slot) is not str or namespaces:
        return False
    try:
        variables = object.__getattribute__(original(obj), "__dict__")
    except AttributeError:
        return False
    if type(variables) is dict and slot in variables:
        kind = type(variables[slot])
        module = kind.__module__
        if issubclass(kind, (FunctionType, BuiltinFunctionType, MethodType, type)):
            return True
        return module == "threading" or module.startswith("kcache_stress.runtime")
    attribute = next((vars(base)[slot] for base in kind_of(obj).__mro__ if slot in vars(base)), None)
    return isinstance(attribute, (FunctionType, property, staticmethod, classmethod))


def _on_location(
    place: _Location, position: int, trace: Trace, clocks: list[Clock], known: list[int], kind: int
) -> list[int] | None:
    """Update a location and the clock ``known`` of the actor; return the events that race with this event."""
    thread = trace[position][0]
    racing: list[int] | None = None
    before: list[int] | None = None
    written = place.written
    if written >= 0:
        by = trace[written][0]
        if by != thread:
            before = [written]
            if known[by] <= written:
                racing = [written]
    if kind:
        for by, read in place.readers.items():
            if by != thread:
                before = [read] if before is None else [*before, read]
                if known[by] <= read:
                    racing = [read] if racing is None else [*racing, read]
        place.written = position
        place.readers.clear()
    else:
        place.readers[thread] = position
    if before is not None:
        for other in before:
            _join(known, clocks[other])
    return racing


def _on_census(kind: int, obj: object, slot: object) -> Sequence[tuple[object, int]]:
    """Return the accesses of an event that is no access to two global places: the thread numbers and the thread list.

    A query of the list is a write, and starts and ends of threads read it: they are ordered with queries, but two ends
    are not ordered with each other, because no query shows the order in which threads end.
    """
    if obj is THREADS:
        return [(THREADS, WRITE)]
    if kind == SPAWN and slot is not None:
        return [(SPAWN, WRITE), (THREADS, READ)]
    return [(THREADS, READ)] if kind == RELEASE and hasattr(obj, "started") else ()


def _shared_objects(trace: Trace) -> set[int]:
    """Return the ids of the objects that two actors accessed, one of them writing."""
    first = {id(obj): thread for thread, kind, obj, _ in trace if kind == WRITE}
    return {
        key for thread, kind, obj, _ in trace if kind <= WRITE and (key := id(obj)) in first and first[key] != thread
    }


def _latest(racing: list[int], trace: Trace, clocks: list[Clock]) -> list[int]:
    """Return the racing events that happen before no other racing event: with an event in between it is no race."""

    def is_covered(event: int) -> bool:
        return any(other != event and clocks[other][trace[event][0]] > event for other in racing)

    return [event for event in racing if not is_covered(event)]


def _join(known: list[int], clock: Clock) -> None:
    for thread, count in enumerate(clock):
        if count > known[thread]:
            known[thread] = count
