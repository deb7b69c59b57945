"""Onlookers of a run: handlers that write down what they are told, and what stands between server and informer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from kcache.informers.list_watch import ListOptions, ObjectList, Watch
from kcache.keys import DeletedFinalStateUnknown
from kcache_model.informers.comparing import version_of
from kcache_model.informers.stories import Told, ToldKind

from .fake_server import FakeServer


class HandlerFailedError(Exception):
    """What a handler raises that was told to fail."""


class DirectedHandler:
    """A handler whose calls can be made to wait, or to raise.

    Args:
        name: how it is called.

    Attributes:
        registration: for what an informer gives for it.
        ended: how many of its calls have ended.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.registration: Any = None
        self.ended = 0
        self._fails = False
        self._free = threading.Event()
        self._free.set()

    def block(self) -> None:
        """Do not return from calls until :meth:`release`."""
        self._free.clear()

    def release(self) -> None:
        """Go on."""
        self._free.set()

    def fail_once(self) -> None:
        """Raise at the end of the next call."""
        self._fails = True

    @property
    def is_blocked(self) -> bool:
        """Whether its calls do not return."""
        return not self._free.is_set()

    def _end_call(self, failure: type[Exception], text: str) -> None:
        self._free.wait()
        self.ended += 1
        if self._fails:
            self._fails = False
            raise failure(text)  # made only here: an exception is something that the explorer does not see into


class Observer(DirectedHandler):
    """Notes each call.

    Args:
        name: how findings call it.
        stored: object or tombstone -> what the store shows under its key.
        is_first: whether it is there before the start.

    Attributes:
        told: its calls so far.
        is_removed: whether it was, or is about to be.
        settled_after: as of a :class:`~kcache_model.informers.stories.HandlerStory`, like all that follow.
    """

    def __init__(self, name: str, stored: Callable[[Any], Any], is_first: bool) -> None:
        super().__init__(name)
        self.is_first = is_first
        self.told: list[Told] = []
        self.is_removed = False
        self.settled_after: int | None = None
        self.stopped_after: int | None = None
        self.most_told: int | None = None
        self.synced_after: int | None = None
        self._stored = stored

    def on_add(self, obj: Any, is_in_initial_list: bool = False) -> None:
        """Note an addition."""
        self._note(ToldKind.ADD, obj, is_in_initial_list=is_in_initial_list)

    def on_update(self, old: Any, new: Any) -> None:
        """Note an update."""
        self._note(ToldKind.UPDATE, new, old)

    def on_delete(self, obj: Any) -> None:
        """Note a deletion."""
        self._note(ToldKind.DELETE, obj)

    def _note(self, kind: ToldKind, obj: Any, old: Any = None, is_in_initial_list: bool = False) -> None:
        stored = self._stored(obj)
        is_tombstone = isinstance(obj, DeletedFinalStateUnknown)
        self.told.append(
            Told(
                kind,
                version_of(obj.obj if is_tombstone else obj),
                None if old is None else version_of(old),
                is_in_initial_list,
                is_tombstone,
                None if stored is None else version_of(stored),
            )
        )
        self._end_call(HandlerFailedError, "a handler raises, as it was told to; the informer has to go on")


class Witness:
    """A ``ListerWatcher`` that remembers the first list.

    Args:
        server: answers.

    Attributes:
        first_list: what the first answered list showed, all pages; ``None`` before.
        was_watched: whether a watch was asked for, which may show all objects, too.
    """

    def __init__(self, server: FakeServer) -> None:
        self._server = server
        self._pages: list[Any] = []
        self.first_list: tuple[Any, ...] | None = None
        self.was_watched = False

    def list(self, options: ListOptions, /) -> ObjectList:
        """The server's answer."""
        answer = self._server.list(options)
        if self.first_list is None:
            if not options.continue_token:
                self._pages = []
            self._pages += answer.items
            if not answer.continue_token:
                self.first_list = tuple(self._pages)
        return answer

    def watch(self, options: ListOptions, /) -> Watch:
        """The server's answer."""
        self.was_watched = True
        return self._server.watch(options)
