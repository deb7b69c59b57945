"""Locks that are given back without a choice before.

Whatever others could do right before a lock is given back they can do right afterwards, too: nothing that they do
meanwhile depends on it. That fails where somebody looks whether the lock is taken, or where several may give it back.
"""

from __future__ import annotations

from ..events import RELEASE, TRY, Event
from ..virtual.locks import VirtualLock, VirtualRLock
from ..virtual.virtual_thread import VirtualThread


def can_release(thread: VirtualThread | None) -> bool:
    """Whether a thread is about to give back a lock that is taken."""
    if thread is None or thread.finished or thread.pending is None:
        return False
    kind, lock, _ = thread.pending
    return kind == RELEASE and isinstance(lock, (VirtualLock, VirtualRLock)) and not lock.free


class EarlyReleases:
    """Watches in one execution whether it mattered that locks were given back early."""

    def __init__(self) -> None:
        self._releasing: dict[int, set[int]] = {}
        self._released_for_others: set[int] = set()
        self._looked_at: set[int] = set()

    @property
    def matter(self) -> bool:
        """Whether somebody may have noticed that a lock was given back early."""
        return not self._looked_at.isdisjoint(self._releasing)

    def note(self, event: Event, *, early: bool) -> None:
        """A RELEASE, a TRY or a QUERY has taken place, and nothing of other threads since.

        Args:
            event: the event.
            early: whether it gave back a lock early.
        """
        thread, kind, lock, slot = event
        owner = getattr(lock, "owner", None)
        if early:
            releasing = self._releasing.setdefault(id(lock), set())
            releasing.add(thread)
            if owner != thread:
                self._released_for_others.add(id(lock))
            if len(releasing) > 1 and id(lock) in self._released_for_others:
                self._looked_at.add(id(lock))
        elif not (kind == TRY and not slot and owner == thread):
            # To try in vain because the lock is one's own does not count: nobody else can change that.
            self._looked_at.add(id(lock))
