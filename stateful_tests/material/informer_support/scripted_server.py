"""A server that answers as a test says, with whatever uids and resource versions."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

from kcache.informers import ADDED, BOOKMARK, DELETED, ERROR, MODIFIED, ListOptions, ObjectList, WatchEvent

from .journal import Journal
from .threads import WATCHDOG_SECONDS


def manifest(key: str, uid: str, version: int, **spec: Any) -> dict[str, Any]:
    """An object under ``namespace/name``."""
    namespace, _, name = key.rpartition("/")
    metadata = {"namespace": namespace, "name": name, "uid": uid, "resourceVersion": str(version)}
    return {"metadata": metadata, "spec": spec}


class ScriptedServer:
    """Answers lists with the pages it was given, the last one again and again; watches show what is sent.

    Args:
        journal: gets a line for each request.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._answers: list[ObjectList | Exception] = []
        self._watches: queue.SimpleQueue[ScriptedWatch] = queue.SimpleQueue()

    def will_list(self, version: int, *objects: Any) -> None:
        """The next list shows ``objects``."""
        self._answers.append(ObjectList(objects, str(version)))

    def will_refuse(self, error: Exception) -> None:
        """The next list raises ``error``."""
        self._answers.append(error)

    def list(self, options: ListOptions, /) -> ObjectList:
        """The next answer."""
        self._journal.write(f'LIST rv="{options.resource_version}" limit={options.limit}')
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def watch(self, options: ListOptions, /) -> ScriptedWatch:
        """A watch without events of its own."""
        bookmarks = str(options.allow_watch_bookmarks).lower()
        self._journal.write(f'WATCH rv="{options.resource_version}" bookmarks={bookmarks}')
        watch = ScriptedWatch()
        self._watches.put(watch)
        return watch

    def next_watch(self) -> ScriptedWatch:
        """Wait for the next watch that is opened."""
        return self._watches.get(timeout=WATCHDOG_SECONDS)


class ScriptedWatch:
    """Shows what is sent until it is ended.

    Args:
        events: are sent at once.

    Attributes:
        is_waiting: whether its client has asked for more than was sent.
        stops: how often it was ended.
    """

    def __init__(self, *events: WatchEvent) -> None:
        self._events: queue.SimpleQueue[WatchEvent | None] = queue.SimpleQueue()
        self.is_waiting = threading.Event()
        self.stops = 0
        for event in events:
            self.send(event)

    def send(self, event: WatchEvent | None) -> None:
        """Send an event; ``None`` is the end."""
        self.is_waiting.clear()
        self._events.put(event)

    def added(self, *objects: Any) -> None:
        """Send ``ADDED`` events."""
        self._send(ADDED, objects)

    def modified(self, *objects: Any) -> None:
        """Send ``MODIFIED`` events."""
        self._send(MODIFIED, objects)

    def deleted(self, *objects: Any) -> None:
        """Send ``DELETED`` events."""
        self._send(DELETED, objects)

    def bookmark(self, version: int) -> None:
        """Send a ``BOOKMARK`` event."""
        self._send(BOOKMARK, [{"metadata": {"resourceVersion": str(version)}}])

    def gone(self) -> None:
        """Send the ``ERROR`` event of an expired resource version, and end."""
        self._send(ERROR, [{"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}])
        self.stop()

    def stop(self) -> None:
        """End after what was sent before."""
        self.stops += 1
        self._events.put(None)

    def __iter__(self) -> Iterator[WatchEvent]:
        while (event := self._next()) is not None:
            yield event

    def _next(self) -> WatchEvent | None:
        if self._events.empty():
            self.is_waiting.set()
        return self._events.get()

    def _send(self, kind: str, objects: Any) -> None:
        for obj in objects:
            self.send(WatchEvent(kind, obj))
