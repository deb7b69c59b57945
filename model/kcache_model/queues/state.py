"""Content of a queue and of its consumer: the state that all specifications share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from .operations import Thing, Tombstone, Version


class Listing(NamedTuple):
    """The event that contains all objects of a replacement."""

    objects: tuple[Version, ...]
    resource_version: str

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.objects))}] at {self.resource_version!r}"


class Delta(NamedTuple):
    """One change; in a FIFO, its type is empty."""

    type: str
    thing: Thing | Listing | str | None

    def __str__(self) -> str:
        return " ".join(filter(None, (self.type, "" if self.thing is None else str(self.thing))))


class Entry(NamedTuple):
    """An entry of a queue, which is handed out as a whole.

    Attributes:
        key: the key of the object; ``None`` for an event that concerns all objects.
        deltas: the changes of the object, the oldest first; none if the object was deleted from a FIFO.
    """

    key: str | None
    deltas: tuple[Delta, ...]

    @property
    def newest(self) -> Delta:
        """The last change."""
        return self.deltas[-1]


Group: TypeAlias = tuple[Entry, ...]
"""Entries that may be handed out in any order among themselves."""


@dataclass(frozen=True, slots=True)
class State:
    """The state of a queue and its consumer.

    Attributes:
        queue: the groups of entries, the oldest first.
        known: the objects that the consumer has stored, sorted by key.
        is_closed: whether the queue was closed.
        is_populated: whether there was any write.
        remaining: the number of entries of the first replacement that have not been handed out yet.
    """

    queue: tuple[Group, ...] = ()
    known: tuple[Version, ...] = ()
    is_closed: bool = False
    is_populated: bool = False
    remaining: int = 0

    @property
    def has_synced(self) -> bool:
        """Whether the first replacement was handed out completely, or another write came before it."""
        return self.is_populated and self.remaining == 0

    def entries(self) -> Iterable[Entry]:
        """All entries in the queue, the oldest first."""
        return (entry for group in self.queue for entry in group)

    def entry(self, key: str) -> Entry | None:
        """The first entry of ``key``."""
        return next((entry for entry in self.entries() if entry.key == key), None)

    def written(self) -> State:
        """The state after a single write."""
        return replace(self, is_populated=True)

    def replaced(self, count: int) -> State:
        """The state after a replacement that queued ``count`` entries; only the very first write sets ``remaining``."""
        return self if self.is_populated else replace(self, is_populated=True, remaining=count)

    def handed_out(self, count: int = 1) -> State:
        """The state with ``remaining`` reduced because ``count`` entries left the queue."""
        return replace(self, remaining=max(0, self.remaining - count))

    def with_group(self, entries: Iterable[Entry]) -> State:
        """The state with new entries at the end, as one group."""
        group = tuple(sorted(entries, key=lambda entry: entry.key or ""))
        return replace(self, queue=(*self.queue, group)) if group else self

    def with_entry(self, changed: Entry) -> State:
        """The state with an entry in place of the first entry of the same key, or at the end if there is none."""
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
        """The state without an entry of the first group."""
        first = list(self.queue[0])
        first.remove(entry)
        rest = self.queue[1:]
        return replace(self, queue=(tuple(first), *rest) if first else rest)

    def applied(self, deltas: Iterable[Delta]) -> State:
        """The state after the consumer has stored the changes that it was handed."""
        known: dict[str | None, Version] = {version.key: version for version in self.known}
        for delta in deltas:
            match delta.thing:
                case Listing():
                    known = {version.key: version for version in delta.thing.objects if version.key is not None}
                case Version() | Tombstone() if delta.type == "Deleted":
                    known.pop(delta.thing.key, None)
                case Version() if delta.thing.key is not None:  # an object without a key cannot be stored
                    known[delta.thing.key] = delta.thing
        return replace(self, known=tuple(known[key] for key in sorted(known, key=str)))
