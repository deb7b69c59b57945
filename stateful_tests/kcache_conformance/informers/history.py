"""History of a server: all changes and events in order; its lists and watches are answered from it."""

from __future__ import annotations

import enum
import threading
from bisect import bisect_right
from dataclasses import dataclass

from kcache.informers.list_watch import DELETED, WatchEvent

from .manifests import Manifest


class Audience(enum.Enum):
    """The watches that receive an entry; a watch is *open* if it began before the entry was added."""

    ALL = "all"
    LATER = "those that begin later"
    OPEN = "those that are open"
    BOOKMARKED = "those that are open and asked for bookmarks"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the history, which watches read in order.

    Attributes:
        resource_version: the resource version of the change, or of the latest change if the entry is no change.
        event: the event that is sent, if any.
        audience: the watches that receive it.
        before: the object before the change; ``None`` if there was none or the entry is no change.
        ends_stream: whether it ends the streams of its audience.
        error: the error that ends the streams; ``None`` if they end normally.
    """

    resource_version: int
    event: WatchEvent | None
    audience: Audience
    before: Manifest | None = None
    ends_stream: bool = False
    error: Exception | None = None

    @property
    def is_change(self) -> bool:
        """Whether the entry is a change of an object, whichever watches receive it."""
        return self.audience in (Audience.ALL, Audience.LATER)


class History:
    """History shared by the server and its watches. An event is stored once; each watch keeps its position.

    Readers and writers must hold its lock, which both conditions share.

    Attributes:
        entries: all entries, in order; their resource versions never decrease.
        current: key -> object, for the objects that exist.
        resource_version: the resource version of the latest change; it begins at 1, because 0 has a special meaning.
        oldest: the oldest resource version that requests can still use, see :meth:`compact`.
        grown: a condition that is notified of new entries and of the end of watches.
        observed: a condition that is notified of the actions of clients.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.current: dict[str, Manifest] = {}
        self.resource_version = 1
        self.oldest = 0
        lock = threading.Lock()
        self.grown = threading.Condition(lock)
        self.observed = threading.Condition(lock)
        self._versions: dict[str, list[tuple[int, Manifest | None]]] = {}

    def change(self, key: str, event: WatchEvent, audience: Audience) -> None:
        """Create, update or delete an object, with the next resource version."""
        self.resource_version += 1
        before = self.current.get(key)
        after = None if event.type == DELETED else event.object
        self._versions.setdefault(key, []).append((self.resource_version, after))
        if after is None:
            del self.current[key]
        else:
            self.current[key] = after
        self._append(Entry(self.resource_version, event, audience, before))

    def send(self, event: WatchEvent, audience: Audience) -> None:
        """Send an event that is no change to the watches of ``audience``."""
        self._append(Entry(self.resource_version, event, audience))

    def end_streams(self, event: WatchEvent | None = None, error: Exception | None = None) -> None:
        """End the open watches at this position, with an event or an error if there is one."""
        self._append(Entry(self.resource_version, event, Audience.OPEN, ends_stream=True, error=error))

    def compact(self) -> None:
        """Forbid requests from earlier resource versions; :meth:`snapshot` still returns the objects at them."""
        self.oldest = self.resource_version

    def snapshot(self, resource_version: int) -> dict[str, Manifest]:
        """Key -> object, for the objects at a resource version; :attr:`current` itself if it is the present version."""
        if resource_version >= self.resource_version:
            return self.current
        objects = {}
        for key, versions in self._versions.items():
            place = bisect_right(versions, resource_version, key=lambda version: version[0])
            if place and (manifest := versions[place - 1][1]) is not None:
                objects[key] = manifest
        return objects

    def position_after(self, resource_version: int) -> int:
        """The index in :attr:`entries` of the first entry after a resource version."""
        return bisect_right(self.entries, resource_version, key=lambda entry: entry.resource_version)

    def _append(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.grown.notify_all()
