"""Observation of an execution: what the actors really touched, against what their events say.

A search exhausts the orders of dependent events. That is a proof only if each two accesses to one place that depend on
each other are ordered by events, in each execution. An observer that does not share the assumptions of the
instrumentation records the accesses themselves. Two of them, of different actors, one of them a write, that no event
orders, may happen the other way round, and no execution of the search tried that.

This is the vector clock algorithm for data races (E. Pozniansky, A. Schuster: MultiRace, 2007; C. Flanagan, S. Freund:
FastTrack, 2009), with one difference: all dependent events order, not only those of locks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from .events import SPAWN, Trace, identity
from .happens_before import Clock, happens_before

EVERYTHING: Final = object()
"""Slot of a touch of an object and its class: it may depend on each other touch of the object."""
CLASS: Final = object()
"""Slot of the class of an object: it decides what an operation on the object does."""
ELEMENTS: Final = object()
"""Slot of the elements of a container that also has attributes."""
_NAMESPACE: Final = "__dict__"
"""Slot of the attribute that refers to the dictionary of an object; the dictionary itself counts as the object."""


class Touch(NamedTuple):
    """Access that an observer has seen.

    Attributes:
        actor: the actor.
        position: number of events in the trace before the access.
        reported: position of the event that reports the access; -1 if there is none.
        obj: the object; the reference keeps its id.
        slot: name of the attribute; ``None`` for an object or a container as a whole; or one of :data:`ELEMENTS`,
            :data:`CLASS` and :data:`EVERYTHING`.
        kind: READ or WRITE.
        place: the place of the access, for messages.
    """

    actor: int
    position: int
    reported: int
    obj: object
    slot: object
    kind: int
    place: object


def first_unordered(trace: Trace, actors: int, touches: Sequence[Touch]) -> tuple[Touch, Touch] | None:
    """Return the first two dependent touches of different actors that no event orders; ``None`` if there are none.

    Args:
        trace: the events of the execution.
        actors: number of actors.
        touches: the accesses of the execution, in their order.

    Complexity: O(length of the trace * actors + touches * actors).
    """
    suspects = list(_contended(touches))
    if not suspects:
        return None
    clocks = happens_before(trace, actors, len(trace)).clocks
    events: list[list[int]] = [[] for _ in range(actors)]  # actor -> positions of its events
    began: dict[int, Clock] = {}
    for position, (actor, kind, _, slot) in enumerate(trace):
        events[actor].append(position)
        if kind == SPAWN and isinstance(slot, int):
            began[slot] = clocks[position]

    def knows(touch: Touch) -> Clock:
        """Return the clock of the actor at the touch: of its event that reports the touch, or of its last event."""
        own = events[touch.actor]
        last = bisect_left(own, touch.position) - 1
        if touch.reported >= 0:
            return clocks[touch.reported]
        return clocks[own[last]] if last >= 0 else began.get(touch.actor, (0,) * actors)

    def is_known_at(touch: Touch) -> int:
        """Return the position from which on other actors that are ordered with it know of the touch."""
        own = events[touch.actor]
        following = bisect_left(own, touch.position)
        if touch.reported >= 0:
            return touch.reported
        return own[following] if following < len(own) else len(trace)

    earlier: defaultdict[tuple[int, object], dict[tuple[int, int], Touch]] = defaultdict(dict)
    slots: defaultdict[int, set[object]] = defaultdict(set)
    for touch in suspects:
        key = identity(touch.obj)
        clock = knows(touch)
        slots[key].add(touch.slot)
        for slot in _dependent(touch.slot, slots[key]):
            for (actor, kind), other in earlier[key, slot].items():
                if actor != touch.actor and kind + touch.kind and clock[actor] <= is_known_at(other):
                    return other, touch
        earlier[key, touch.slot][touch.actor, touch.kind] = touch
    return None


def _dependent(slot: object, known: Iterable[object]) -> Iterable[object]:
    """Return the slots of an object that overlap with a slot."""
    if slot is EVERYTHING:
        return known
    if slot is None:
        return [other for other in known if other is not CLASS and other != _NAMESPACE]
    return (slot, EVERYTHING) if slot is CLASS or slot == _NAMESPACE else (slot, EVERYTHING, None)


def _contended(touches: Iterable[Touch]) -> Iterable[Touch]:
    """Return the touches of objects that several actors touch, one of them writing."""
    actors: defaultdict[int, set[int]] = defaultdict(set)
    written = set()
    for touch in touches:
        key = identity(touch.obj)
        actors[key].add(touch.actor)
        if touch.kind:
            written.add(key)
    shared = {key for key in written if len(actors[key]) > 1}
    return (touch for touch in touches if identity(touch.obj) in shared)
