"""All that ever happened on a server, in order: what its lists and watches are answered from."""

from __future__ import annotations

import enum
import threading
from bisect import bisect_right
from dataclasses import dataclass

from kcache.informers.list_watch import DELETED, WatchEvent

from .manifests import Manifest


class Audience(enum.Enum):
    """Which watches an entry is for; a watch is *open* if it began before the entry was made."""

    ALL = "all"
    LATER = "those that begin later"
    OPEN = "those that are open"
    BOOKMARKED = "those that are open and asked for bookmarks"


@dataclass(frozen=True, slots=True)
class Entry:
    """One step of all watches.

    Attributes:
        resource_version: of the change; of the latest change if this is none.
        event: what is sent, if anything.
        audience: to whom.
        before: the object before the change, ``None`` if there was none or this is no change.
        ends_stream: whether nothing follows for this audience.
        error: what the streams end with, unless they end normally.
    """

    resource_version: int
    event: WatchEvent | None
    audience: Audience
    before: Manifest | None = None
    ends_stream: bool = False
    error: Exception | None = None

    @property
    def is_change(self) -> bool:
        """Whether objects changed: it belongs to the truth, whoever hears of it."""
        return self.audience in (Audience.ALL, Audience.LATER)


class History:
    """Shared by the server and its watches, each of which remembers how far it has got: an event is stored once.

    Whoever reads or writes it holds its lock, which both conditions share.

    Attributes:
        entries: in order; their resource versions never decrease.
        current: the objects that exist, by key.
        resource_version: of the latest change; begins with 1, since 0 has a meaning of its own.
        oldest: the resource version up to which the past is forgotten, see :meth:`compact`.
        grown: a condition to wait in for another entry, or the end of a watch.
        observed: a condition to wait in for what clients do.
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
        """An object is created, updated or deleted, under the next resource version."""
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
        """An event that is no change goes to open watches."""
        self._append(Entry(self.resource_version, event, audience))

    def end_streams(self, event: WatchEvent | None = None, error: Exception | None = None) -> None:
        """The open watches end when they get here, with an event or an error if there is one."""
        self._append(Entry(self.resource_version, event, Audience.OPEN, ends_stream=True, error=error))

    def compact(self) -> None:
        """Nothing that is older than now can be listed or watched any more; kept for :meth:`snapshot`, though."""
        self.oldest = self.resource_version

    def snapshot(self, resource_version: int) -> dict[str, Manifest]:
        """The objects that existed at a resource version, by key; not a copy if that is now."""
        if resource_version >= self.resource_version:
            return self.current
        objects = {}
        for key, versions in self._versions.items():
            place = bisect_right(versions, resource_version, key=lambda version: version[0])
            if place and (manifest := versions[place - 1][1]) is not None:
                objects[key] = manifest
        return objects

    def position_after(self, resource_version: int) -> int:
        """The place in :attr:`entries` of the first one after a resource version."""
        return bisect_right(self.entries, resource_version, key=lambda entry: entry.resource_version)

    def _append(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.grown.notify_all()
