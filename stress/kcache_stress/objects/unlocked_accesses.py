"""Accesses that threads of a class make without a lock, and which of them calls may come between.

A worker counts up an attribute, and whoever likes looks at it: ``self.done += 1``. No lock is needed for that, and no
fault is in it, though others see some parts done and some not. A worker looks at a flag before each part of its work:
``if self._cancelled: return``. Whoever sets the flag may come right after that.

But where each call takes a lock before it touches the same attribute, the worker has forgotten to: what it does without
the lock is meant to be one step. The same holds where one call reads two places that the worker writes one after
another, or writes two places that the worker reads: one of them may see one half done.

So an access of a thread of the class is *apart*, and ends its step, if

* it writes a place, or it reads one that calls write and no thread of the class: between reading and writing the same
  place, as ``+=`` does, nothing may come;
* no lock is held, and not each call that touches the place holds one;
* no call reads two such places that are written, or writes two that are read.

Events and the like are made for flags: to look at one is apart, whoever holds what.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from ..engine.events import READ, WRITE, Imprecise, Trace, location, parts_of
from ..engine.weak_objects import original
from ..modules.held_locks import HeldLocks
from ..trace.naming import Names, is_library

_ROOT: Final = "<it>"
"""What the object is called: no class can be called so."""

Access = tuple[int, str]
"""READ or WRITE, and the way to the place. Each replay makes another object, in which the same ways lead to others."""


class UnlockedAccesses:
    """Takes note of what is touched, and whether a lock is held.

    Args:
        trace: the events so far; more are added to it.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._names = Names(_ROOT)
        self._position = 0
        self._held = HeldLocks()
        self._unlocked: set[Access] = set()
        self._written: set[str] = set()
        self._flags: set[str] = set()
        self._locked: set[str] = set()
        self._open: set[str] = set()
        self._calls: defaultdict[object, set[Access]] = defaultdict(set)

    def skip(self) -> None:
        """Take note of who holds which lock, and of nothing else."""
        for event in self._new_events():
            self._held.see(event)

    def look(self, root: object, call: object = None) -> set[Access]:
        """Take note of what has been done since the last time; the accesses without a lock, if no call made them.

        Args:
            root: the object.
            call: which one has done it; ``None`` for threads of the class.
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
        """The accesses that end a step."""
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
        """The way to a place; empty if none leads there."""
        name = "" if type(slot) is Imprecise else self._names.of(obj).removeprefix("former ")
        if not name.startswith(_ROOT):
            return ""
        return f"{name}.{slot}" if isinstance(location(obj, slot), tuple) else name
