"""Deltas, which a queue of changes hands out (client-go ``delta_fifo.go``, ``the_real_fifo.go``)."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


class DeltaType(enum.StrEnum):
    """What happened to an object, or to all of them (client-go ``DeltaType``)."""

    ADDED = "Added"
    UPDATED = "Updated"
    DELETED = "Deleted"
    REPLACED = "Replaced"
    """A relist named the object; it may have changed or not."""
    SYNC = "Sync"
    """Nothing changed: a resync shows the object again."""
    REPLACED_ALL = "ReplacedAll"
    """A relist as one event; the object is a :class:`ReplacedAllInfo`."""
    SYNC_ALL = "SyncAll"
    """A resync as one event; the object is a :class:`SyncAllInfo`."""
    BOOKMARK = "Bookmark"
    """The source has come further without a change; the object is a :class:`BookmarkInfo`."""


ATOMIC_TYPES = frozenset({DeltaType.REPLACED_ALL, DeltaType.SYNC_ALL, DeltaType.BOOKMARK})
"""Those that concern no single object."""


@dataclass(frozen=True, slots=True)
class Delta:
    """One change.

    Attributes:
        type: what happened.
        object: the object after the change; for a deletion its last state, perhaps as a
            :class:`~kcache.DeletedFinalStateUnknown`.
        key: of the object, where the queue has asked for it already, so that nobody need ask again; not compared.
    """

    type: DeltaType
    object: Any
    key: str | None = field(default=None, compare=False, repr=False)


class Deltas(tuple[Delta, ...]):
    """Changes of one object, the oldest first; never empty when a queue hands them out (client-go ``Deltas``)."""

    __slots__ = ()

    def oldest(self) -> Delta | None:
        """The first change, ``None`` if there is none."""
        return self[0] if self else None

    def newest(self) -> Delta | None:
        """The last change, ``None`` if there is none."""
        return self[-1] if self else None


@dataclass(frozen=True, slots=True)
class ReplacedAllInfo:
    """A whole new content.

    Attributes:
        resource_version: the state that it shows.
        objects: all objects, in the order of the list.
    """

    resource_version: str
    objects: Sequence[Any]


@dataclass(frozen=True, slots=True)
class SyncAllInfo:
    """Every known object is to be shown again."""


@dataclass(frozen=True, slots=True)
class BookmarkInfo:
    """The source has reached ``resource_version``."""

    resource_version: str
