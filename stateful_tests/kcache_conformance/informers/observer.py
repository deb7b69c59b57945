"""Observers of a run: handlers that record their calls, and a ``ListerWatcher`` between server and informer."""

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
    """The error that a handler raises after :meth:`DirectedHandler.fail_once`."""


class DirectedHandler:
    """A handler whose calls can be blocked, or raise on request.

    Args:
        name: its name.

    Attributes:
        registration: the registration that the informer returned for it; the caller sets it.
        ended: the number of its calls that have ended.
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
        """Let blocked calls return."""
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
            raise failure(text)  # created only here, because the explorer does not observe the inside of exceptions


class Observer(DirectedHandler):
    """Handler that records each call.

    Args:
        name: its name in findings.
        stored: object or tombstone -> the object that the store has under its key.
        is_first: whether it is added before the start.

    Attributes:
        calls: its calls so far.
        is_removed: whether it was removed, or is about to be removed.
        settled_after: this and the following attributes are those of
            :class:`~kcache_model.informers.stories.HandlerStory`.
    """

    def __init__(self, name: str, stored: Callable[[Any], Any], is_first: bool) -> None:
        super().__init__(name)
        self.is_first = is_first
        self.calls: list[Told] = []
        self.is_removed = False
        self.settled_after: int | None = None
        self.stopped_after: int | None = None
        self.most_calls: int | None = None
        self.synced_after: int | None = None
        self._stored = stored

    def on_add(self, obj: Any, is_in_initial_list: bool = False) -> None:
        """Record an addition."""
        self._note(ToldKind.ADD, obj, is_in_initial_list=is_in_initial_list)

    def on_update(self, old: Any, new: Any) -> None:
        """Record an update."""
        self._note(ToldKind.UPDATE, new, old)

    def on_delete(self, obj: Any) -> None:
        """Record a deletion."""
        self._note(ToldKind.DELETE, obj)

    def _note(self, kind: ToldKind, obj: Any, old: Any = None, is_in_initial_list: bool = False) -> None:
        stored = self._stored(obj)
        is_tombstone = isinstance(obj, DeletedFinalStateUnknown)
        self.calls.append(
            Told(
                kind,
                version_of(obj.obj if is_tombstone else obj),
                None if old is None else version_of(old),
                is_in_initial_list,
                is_tombstone,
                None if stored is None else version_of(stored),
            )
        )
        self._end_call(HandlerFailedError, "a handler raises, as the test demands; the informer must continue")


class Witness:
    """A ``ListerWatcher`` that records the first list.

    Args:
        server: the server that answers.

    Attributes:
        first_list: the objects of the first complete list, of all pages; ``None`` before.
        was_watched: whether a watch was requested, which may return all objects, too.
    """

    def __init__(self, server: FakeServer) -> None:
        self._server = server
        self._pages: list[Any] = []
        self.first_list: tuple[Any, ...] | None = None
        self.was_watched = False

    def list(self, options: ListOptions, /) -> ObjectList:
        """Return the server's answer, and record the objects of the first list."""
        answer = self._server.list(options)
        if self.first_list is None:
            if not options.continue_token:
                self._pages = []
            self._pages += answer.items
            if not answer.continue_token:
                self.first_list = tuple(self._pages)
        return answer

    def watch(self, options: ListOptions, /) -> Watch:
        """Return the server's answer, and record that a watch was requested."""
        self.was_watched = True
        return self._server.watch(options)
