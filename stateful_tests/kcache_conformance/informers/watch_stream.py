"""Stream of a watch: the iterator that a client reads."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator

from kcache.informers.list_watch import ADDED, DELETED, WatchEvent

from .history import Audience, Entry, History
from .manifests import changed
from .selectors import Selects


class WatchStream:
    """A position in the history that advances as the client reads (a :class:`~kcache.informers.list_watch.Watch`).

    The caller holds the lock of the history to create it and to read its attributes, but not to iterate or stop it.

    Args:
        history: the history of the server.
        initial: the events that come first.
        after: a resource version; the changes after it come next. It may not have been reached yet.
        selects: whether an object is selected; ``None`` for all objects.
        takes_bookmarks: whether the client asked for bookmarks.
    """

    def __init__(
        self,
        history: History,
        initial: Iterable[WatchEvent],
        after: int,
        selects: Selects | None,
        takes_bookmarks: bool,
    ) -> None:
        self._history = history
        self._initial = list(initial)[::-1]
        self._after = after
        self._position = history.position_after(after)
        self._opened_at = len(history.entries)
        self._selects = selects
        self._takes_bookmarks = takes_bookmarks
        self._is_open = True
        self._is_waiting = False

    @property
    def is_open(self) -> bool:
        """Whether neither the server nor the client has ended it."""
        return self._is_open

    @property
    def is_caught_up(self) -> bool:
        """Whether its client has read all events and waits for more."""
        return self._is_waiting and self._position == len(self._history.entries)

    def __iter__(self) -> Iterator[WatchEvent]:
        return self

    def __next__(self) -> WatchEvent:
        history = self._history
        with history.grown:
            while self._is_open:
                event = self._initial.pop() if self._initial else self._read()
                if event is not None:
                    return event
                if self._is_open:
                    self._is_waiting = True
                    history.observed.notify_all()
                    history.grown.wait()
                    self._is_waiting = False
        raise StopIteration

    def stop(self) -> None:
        """End the iteration at once; may be called in any thread."""
        with self._history.grown:
            self.end()
            self._history.grown.notify_all()

    def end(self) -> None:
        """End the stream; unread events are dropped. The caller holds the lock and notifies ``grown``."""
        self._is_open = False
        self._history.observed.notify_all()

    def _read(self) -> WatchEvent | None:
        """The next event for this client; ``None`` if there is none yet, or the stream has ended."""
        entries = self._history.entries
        while self._position < len(entries):
            position, self._position = self._position, self._position + 1
            entry = entries[position]
            if not self._hears(entry, position):
                continue
            if entry.ends_stream:
                self.end()
                if entry.error is not None:
                    raise copy.copy(entry.error)
                return entry.event
            if (event := self._selected(entry)) is not None:
                return event
        return None

    def _hears(self, entry: Entry, position: int) -> bool:
        if entry.is_change and entry.resource_version <= self._after:
            return False
        if entry.audience is Audience.ALL:
            return True
        if entry.audience is Audience.LATER:
            return position < self._opened_at
        return position >= self._opened_at and (entry.audience is Audience.OPEN or self._takes_bookmarks)

    def _selected(self, entry: Entry) -> WatchEvent | None:
        """The event for a client that sees only the selected objects; new labels may add or delete an object for it."""
        event = entry.event
        if self._selects is None or event is None or not entry.is_change:
            return event
        was = entry.before is not None and self._selects(entry.before)
        if event.type == DELETED:
            return event if was else None
        if self._selects(event.object):
            return event if was or event.type == ADDED else WatchEvent(ADDED, event.object)
        if not was or entry.before is None:
            return None
        return WatchEvent(DELETED, changed(entry.before, entry.resource_version))


class FailedWatch:
    """A watch that was accepted, but whose only event is an error.

    Args:
        event: its only event.
    """

    def __init__(self, event: WatchEvent) -> None:
        self._events = [event]

    def __iter__(self) -> Iterator[WatchEvent]:
        while self._events:
            yield self._events.pop()

    def stop(self) -> None:
        """End the iteration."""
        self._events.clear()
