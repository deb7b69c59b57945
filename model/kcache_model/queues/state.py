"""Contents of a queue, and what its consumer knows: the state that all specifications share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from .operations import Thing, Tombstone, Version


class Listing(NamedTuple):
    """All objects there are, as one event."""

    objects: tuple[Version, ...]
    resource_version: str

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.objects))}] at {self.resource_version!r}"


class Delta(NamedTuple):
    """One change; that of a FIFO has no type."""

    type: str
    thing: Thing | Listing | str | None

    def __str__(self) -> str:
        return " ".join(filter(None, (self.type, "" if self.thing is None else str(self.thing))))


class Entry(NamedTuple):
    """What is handed out at once.

    Attributes:
        key: of the object; ``None`` for an event that concerns all.
        deltas: its changes, the oldest first; none where an object was taken out of a FIFO.
    """

    key: str | None
    deltas: tuple[Delta, ...]

    @property
    def newest(self) -> Delta:
        """The last change."""
        return self.deltas[-1]


Group: TypeAlias = tuple[Entry, ...]
"""Entries whose order among themselves is left open: they may be handed out in any."""


@dataclass(frozen=True, slots=True)
class State:
    """A queue and its consumer.

    Attributes:
        queue: what waits, the oldest first.
        known: what the consumer has stored, by key.
        is_closed: whether the queue was closed.
        is_populated: whether anything was written at all.
        left: how many entries of the first replacement have yet to be handed out.
    """

    queue: tuple[Group, ...] = ()
    known: tuple[Version, ...] = ()
    is_closed: bool = False
    is_populated: bool = False
    left: int = 0

    @property
    def has_synced(self) -> bool:
        """Whether the first replacement was handed out, or another write came before it."""
        return self.is_populated and self.left == 0

    def entries(self) -> Iterable[Entry]:
        """What waits."""
        return (entry for group in self.queue for entry in group)

    def entry(self, key: str) -> Entry | None:
        """The first entry of ``key``."""
        return next((entry for entry in self.entries() if entry.key == key), None)

    def written(self) -> State:
        """After a single write."""
        return replace(self, is_populated=True)

    def replaced(self, count: int) -> State:
        """After a replacement that queued ``count`` entries: the first write of all decides what is waited for."""
        return self if self.is_populated else replace(self, is_populated=True, left=count)

    def handed_out(self, count: int = 1) -> State:
        """After that many entries left the queue."""
        return replace(self, left=max(0, self.left - count))

    def with_group(self, entries: Iterable[Entry]) -> State:
        """With new entries at the end, in any order among themselves."""
        group = tuple(sorted(entries, key=lambda entry: entry.key or ""))
        return replace(self, queue=(*self.queue, group)) if group else self

    def with_entry(self, changed: Entry) -> State:
        """With another entry in the place of the first one of the same key, or at the end if there is none."""
        old = self.entry(changed.key or "")
        if old is None:
            return self.with_group([changed])
        queue, is_done = [], False
        for group in self.queue:
            position = next((i for i, entry in enumerate(group) if entry is old), None)
            if position is not None and not is_done:
                group, is_done = (*group[:position], changed, *group[position + 1 :]), True
            queue.append(group)
        return replace(self, queue=tuple(queue))

    def without(self, entry: Entry) -> State:
        """Without an entry of the first group."""
        first = list(self.queue[0])
        first.remove(entry)
        rest = self.queue[1:]
        return replace(self, queue=(tuple(first), *rest) if first else rest)

    def applied(self, deltas: Iterable[Delta]) -> State:
        """After the consumer has stored what it was handed."""
        known: dict[str | None, Version] = {version.key: version for version in self.known}
        for delta in deltas:
            match delta.thing:
                case Listing():
                    known = {version.key: version for version in delta.thing.objects if version.key is not None}
                case Version() | Tombstone() if delta.type == "Deleted":
                    known.pop(delta.thing.key, None)
                case Version() if delta.thing.key is not None:  # nobody can store what has no key
                    known[delta.thing.key] = delta.thing
        return replace(self, known=tuple(known[key] for key in sorted(known, key=str)))
