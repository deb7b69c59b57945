"""Writes that threads of a class make without a lock, and which of them others are meant to see at once.

A worker counts up an attribute, and whoever likes looks at it: ``self.done += 1``. No lock is needed for that, and no
fault is in it, though others see some parts done and some not. But where calls take a lock before they touch the same
attribute, the worker has forgotten to: what it does without the lock is meant to be seen as a whole. The same holds
where one call looks at two places that the worker writes one after another: it may see one half done.

So a write counts as one that others may see at once (it is *apart*) if no call touches its place while it holds a lock,
and no call reads two such places.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from ..explorer.events import ACQUIRE, READ, RELEASE, TRY, WRITE, Imprecise, Trace, location, parts_of
from ..explorer.rendering.naming import Names
from ..explorer.weak_objects import original

_ROOT: Final = "<it>"
"""What the object is called: no class can be called so."""


class UnlockedWrites:
    """Takes note of what is written without a lock, and by whom what is touched.

    Places go by the way that leads to them from the object: each replay makes another one.

    Args:
        trace: the events so far; more are added to it.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._names = Names(_ROOT)
        self._position = 0
        self._held: defaultdict[int, set[int]] = defaultdict(set)
        self._written: set[str] = set()
        self._locked: set[str] = set()
        self._read: defaultdict[object, set[str]] = defaultdict(set)

    def skip(self) -> None:
        """What has been done since the last time is of no interest."""
        self._position = len(self._trace)

    def look(self, root: object, call: object = None) -> set[str]:
        """Take note of what has been done since the last time; what was written without a lock, if by no call.

        Args:
            root: the object.
            call: which one has done it; ``None`` for threads of the class.
        """
        found: set[str] = set()
        self._names.root = root
        events, self._position = self._trace[self._position :], len(self._trace)
        if any(event[1] == WRITE for event in events):
            self._names.forget()
        for number, kind, obj, slot in events:
            if kind > WRITE:
                self._take(number, kind, obj, slot)
                continue
            for how, what, part in parts_of(kind, obj, slot):
                place = self._place(original(what), part)
                if call is None:
                    found |= {place} if how == WRITE and not self._held[number] else set()
                    continue
                self._locked |= {place} if self._held[number] else set()
                self._read[call] |= {place} if how == READ else set()
        found.discard("")
        self._written |= found
        return found

    def apart(self) -> frozenset[str]:
        """The places whose writes may be seen at once."""
        places = self._written - self._locked
        for read in self._read.values():
            if len(read & self._written) > 1:
                places -= read
        return frozenset(places)

    def _take(self, number: int, kind: int, lock: object, slot: object) -> None:
        if not hasattr(lock, "owner"):
            return
        if kind == ACQUIRE or (kind == TRY and slot):
            self._held[number].add(id(lock))
        elif kind == RELEASE:
            for held in self._held.values():
                held.discard(id(lock))

    def _place(self, obj: object, slot: object) -> str:
        """The way to a place; empty if none leads there."""
        name = "" if type(slot) is Imprecise else self._names.of(obj).removeprefix("former ")
        if not name.startswith(_ROOT):
            return ""
        return f"{name}.{slot}" if isinstance(location(obj, slot), tuple) else name
