"""Deltas: the changes in a queue (client-go ``delta_fifo.go``, ``the_real_fifo.go``)."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


class DeltaType(enum.StrEnum):
    """The kind of a change of one object, or of all objects (client-go ``DeltaType``)."""

    ADDED = "Added"
    UPDATED = "Updated"
    DELETED = "Deleted"
    REPLACED = "Replaced"
    """A relist contained the object; it may have changed or not."""
    SYNC = "Sync"
    """A resync: the object is delivered again without a change."""
    REPLACED_ALL = "ReplacedAll"
    """A relist as one event; the object is a :class:`ReplacedAllInfo`."""
    SYNC_ALL = "SyncAll"
    """A resync as one event; the object is a :class:`SyncAllInfo`."""
    BOOKMARK = "Bookmark"
    """The source has a newer resource version without a change; the object is a :class:`BookmarkInfo`."""


ATOMIC_TYPES = frozenset({DeltaType.REPLACED_ALL, DeltaType.SYNC_ALL, DeltaType.BOOKMARK})
"""Types of changes that concern all objects rather than one."""


@dataclass(frozen=True, slots=True)
class Delta:
    """One change.

    Attributes:
        type: the kind of the change.
        object: the object after the change; for a deletion its last state, perhaps as a
            :class:`~kcache.DeletedFinalStateUnknown`.
        key: the key of the object if the queue has computed it, so that it is not computed again; not compared.
    """

    type: DeltaType
    object: Any
    key: str | None = field(default=None, compare=False, repr=False)


class Deltas(tuple[Delta, ...]):
    """Changes of one object, the oldest first; never empty when a queue returns them (client-go ``Deltas``)."""

    __slots__ = ()

    def oldest(self) -> Delta | None:
        """Return the first change, or ``None`` if there is none."""
        return self[0] if self else None

    def newest(self) -> Delta | None:
        """Return the last change, or ``None`` if there is none."""
        return self[-1] if self else None


@dataclass(frozen=True, slots=True)
class ReplacedAllInfo:
    """The complete new content of a replacement.

    Attributes:
        resource_version: the resource version of the list.
        objects: all objects, in the order of the list.
    """

    resource_version: str
    objects: Sequence[Any]


@dataclass(frozen=True, slots=True)
class SyncAllInfo:
    """A request to deliver every known object again."""


@dataclass(frozen=True, slots=True)
class BookmarkInfo:
    """A bookmark: the source has reached ``resource_version``."""

    resource_version: str
