"""The locks that threads hold, read off the events of an execution."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set

from ..engine.events import ACQUIRE, RELEASE, TRY, Event


class HeldLocks:
    """Takes note of events, one after another.

    If a thread gives back a lock that it has not taken, the lock is a signal: a condition makes such a lock for each
    wait. From then on, no thread counts as its holder.
    """

    def __init__(self) -> None:
        self._held: defaultdict[int, set[int]] = defaultdict(set)
        self._signals: set[int] = set()

    def see(self, event: Event) -> None:
        """Take note of an event; only those of locks matter."""
        number, kind, lock, slot = event
        if kind not in (ACQUIRE, TRY, RELEASE) or not hasattr(lock, "owner"):  # in this order: others run code
            return
        held = self._held[number]
        if kind == RELEASE:
            if id(lock) not in held:
                self._signals.add(id(lock))
            for other in self._held.values():
                other.discard(id(lock))
        elif (kind == ACQUIRE or slot) and id(lock) not in self._signals:
            held.add(id(lock))

    def of(self, number: int) -> Set[int]:
        """The ids of the locks that a thread holds now."""
        return self._held[number]
