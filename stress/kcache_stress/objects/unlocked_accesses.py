"""Unlocked accesses of threads of a class: which of them end a step, so that calls may come right after them.

Example: a worker counts its progress with ``self.done += 1``, and calls read the attribute. No lock is needed, and the
class is correct, although calls see some parts of the work done and some not. Another example: a worker reads a flag
before each part of its work: ``if self._cancelled: return``. A call may set the flag right after this.

But if each call takes a lock before it accesses the attribute, the worker should take the lock, too: its accesses
without the lock are meant to be one step. The same applies if one call reads two places that the worker writes one
after another, or writes two places that the worker reads: either may see the other half-finished.

So an access of a thread of the class is *apart*, and ends the step of the thread, if

* it writes a place, or it reads a place that calls write and no thread of the class writes: nothing may come between
  the read and the write of the same place, as in ``+=``;
* no lock is held, and at least one call accesses the place without a lock, or no call accesses it with a lock;
* no call reads two places with such writes, or writes two places with such reads.

Events, semaphores and similar library objects are meant to be flags: an access to one may be apart although a lock is
held.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from ..engine.events import READ, WRITE, Trace, UnknownAccess, location, parts_of
from ..engine.weak_objects import original
from ..modules.held_locks import HeldLocks
from ..trace.naming import Names, is_library

_ROOT: Final = "<it>"
"""The name of the object under test in paths: no class can have this name."""

Access = tuple[int, str]
"""READ or WRITE, and the path to the place. A path stays valid in each replay, although each creates a new object."""


class UnlockedAccesses:
    """Record of accesses: the places accessed, by calls and by threads of the class, and whether a lock was held.

    Args:
        trace: the events so far; the scheduler appends further events to it.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._names = Names(_ROOT, enters_library=False)
        self._position = 0
        self._held = HeldLocks()
        self._unlocked: set[Access] = set()
        self._written: set[str] = set()
        self._flags: set[str] = set()
        self._locked: set[str] = set()
        self._open: set[str] = set()
        self._calls: defaultdict[object, set[Access]] = defaultdict(set)

    def skip(self) -> None:
        """Skip the new events, except for the locks that threads hold."""
        for event in self._new_events():
            self._held.see(event)

    def look(self, root: object, call: object = None) -> set[Access]:
        """Record the new accesses. Return the accesses of threads of the class without a lock, or to library objects.

        Args:
            root: the object under test.
            call: the call that made the accesses; ``None`` for threads of the class. If given, the result is empty.
        """
        found: set[Access] = set()
        self._names.root = root
        events = self._new_events()
        if any(event[1] == WRITE for event in events):
            self._names.forget()
        for event in events:
            self._held.see(event)
            number, kind, obj, slot = event
            if kind > WRITE:
                continue
            is_locked = bool(self._held.of(number))
            for how, what, part in parts_of(kind, obj, slot):
                place = self._place(original(what), part)
                if not place:
                    continue
                if call is not None:
                    (self._locked if is_locked else self._open).add(place)
                    self._calls[call].add((how, place))
                    continue
                self._written |= {place} if how == WRITE else set()
                self._flags |= {place} if is_library(original(what)) else set()
                found |= {(how, place)} if not is_locked or place in self._flags else set()
        self._unlocked |= found
        return found

    def apart(self) -> frozenset[Access]:
        """The accesses that are apart: each ends a step."""
        changed = {place for touched in self._calls.values() for how, place in touched if how == WRITE}
        found = {
            (how, place)
            for how, place in self._unlocked
            if (how == WRITE or place in changed - self._written)
            and (place not in self._locked or place in self._open or place in self._flags)
        }
        for own, others in ((WRITE, READ), (READ, WRITE)):
            for touched in self._calls.values():
                both = {(own, place) for how, place in touched if how == others} & found
                if len(both) > 1:
                    found -= both
        return frozenset(found)

    def _new_events(self) -> Trace:
        events, self._position = self._trace[self._position :], len(self._trace)
        return events

    def _place(self, obj: object, slot: object) -> str:
        """Return the path from the object to a place; empty if there is no path."""
        name = "" if type(slot) is UnknownAccess else self._names.of(obj).removeprefix("former ")
        if not name.startswith(_ROOT):
            return ""
        return f"{name}.{slot}" if isinstance(location(obj, slot), tuple) else name
