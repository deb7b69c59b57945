"""Held locks: the locks that each thread holds, computed from the events of an execution."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set

from ..engine.events import ACQUIRE, RELEASE, TRY, WRITE, Event


class HeldLocks:
    """Tracker of the locks that threads hold; it processes events one after another.

    If a thread releases a lock that it has not acquired, the lock is a signal: a condition creates such a lock for each
    wait. From then on, no thread counts as its holder. A lock is also a signal if its holder waits for it until a
    timeout: then the clock moves right after the failed TRY.
    """

    def __init__(self) -> None:
        self._held: defaultdict[int, set[int]] = defaultdict(set)
        self._signals: set[int] = set()
        self._missed: dict[int, int] = {}

    def see(self, event: Event) -> None:
        """Process an event; only events of locks have an effect."""
        number, kind, lock, slot = event
        if (missed := self._missed.pop(number, 0)) and kind == WRITE and slot == "now":
            self._signals.add(missed)
            self._held[number].discard(missed)
        if kind not in (ACQUIRE, TRY, RELEASE) or not hasattr(lock, "owner"):  # last: `hasattr` may run target code
            return
        held = self._held[number]
        if kind == RELEASE:
            if id(lock) not in held:
                self._signals.add(id(lock))
            for other in self._held.values():
                other.discard(id(lock))
        elif kind == TRY and not slot:
            self._missed[number] = id(lock) if id(lock) in held else 0
        elif id(lock) not in self._signals:
            held.add(id(lock))

    def of(self, number: int) -> Set[int]:
        """Return the ids of the locks that a thread holds now."""
        return self._held[number]
