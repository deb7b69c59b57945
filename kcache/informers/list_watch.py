"""Requests of a reflector to an API server: to list objects, and to watch them change (client-go ``listwatch.go``)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"
BOOKMARK: Final = "BOOKMARK"
ERROR: Final = "ERROR"


@dataclass(frozen=True)
class ListOptions:
    """What is asked for (``metav1.ListOptions``).

    Attributes:
        resource_version: of a list: at least as new as this; ``"0"`` for whatever the server has at hand, ``""`` for
            the newest. Of a watch: what comes after it. Opaque: handed back as the server gave it.
        limit: the most objects of one page; 0 for all.
        continue_token: where the next page begins, as the page before said.
        allow_watch_bookmarks: whether a watch may tell the resource version without an object.
        timeout_seconds: after which the server ends a watch.
        label_selector: which objects, by label.
        field_selector: which objects, by field.
    """

    resource_version: str = ""
    limit: int = 0
    continue_token: str = ""
    allow_watch_bookmarks: bool = False
    timeout_seconds: int | None = None
    label_selector: str = ""
    field_selector: str = ""


@dataclass(frozen=True)
class ObjectList:
    """One page of a list.

    Attributes:
        items: the objects.
        resource_version: the state that the list shows.
        continue_token: asks for the next page; ``""`` on the last one.
    """

    items: Sequence[Any]
    resource_version: str
    continue_token: str = ""


@dataclass(frozen=True)
class WatchEvent:
    """A change.

    Attributes:
        type: :data:`ADDED`, :data:`MODIFIED`, :data:`DELETED`, :data:`BOOKMARK` or :data:`ERROR`.
        object: the object after the change (before a deletion, with the resource version of the deletion); a status for
            :data:`ERROR`.
    """

    type: str
    object: Any


@runtime_checkable
class Watch(Protocol):
    """A stream of changes; its iteration ends when the server ends it."""

    def __iter__(self) -> Iterator[WatchEvent]:
        """The changes, each as it arrives; raises an :class:`~.api_errors.ApiError` if the connection fails."""
        ...

    def stop(self) -> None:
        """End the iteration at once, from whatever thread; may be called twice, and before it has begun."""


class ListerWatcher(Protocol):
    """Lists and watches objects of one type (client-go ``ListerWatcher``)."""

    def list(self, options: ListOptions, /) -> ObjectList:
        """One page of objects; raises an :class:`~.api_errors.ApiError` where the server refuses."""
        ...

    def watch(self, options: ListOptions, /) -> Watch:
        """The changes since ``options.resource_version``; raises as :meth:`list`."""
        ...


ListFunc: TypeAlias = Callable[[ListOptions], ObjectList]
WatchFunc: TypeAlias = "Callable[[ListOptions], Watch | Iterable[WatchEvent]]"


class ListWatch:
    """A lister and watcher from two functions (client-go ``ListWatch``).

    Args:
        list_func: returns a page.
        watch_func: returns a :class:`Watch`, or any iterable of events. An iterable without ``stop`` cannot be
            interrupted: the informer stops when its next event comes, or when it ends.
    """

    def __init__(self, list_func: ListFunc, watch_func: WatchFunc) -> None:
        self._list_func = list_func
        self._watch_func = watch_func

    def list(self, options: ListOptions, /) -> ObjectList:
        """What ``list_func`` returns."""
        return self._list_func(options)

    def watch(self, options: ListOptions, /) -> Watch:
        """What ``watch_func`` returns, as a :class:`Watch`."""
        events = self._watch_func(options)
        return events if isinstance(events, Watch) else _Uninterruptible(events)


class _Uninterruptible:
    """Gives a plain iterable a ``stop`` that takes effect at the next event."""

    def __init__(self, events: Iterable[WatchEvent]) -> None:
        self._events = events
        self._is_stopped = False

    def __iter__(self) -> Iterator[WatchEvent]:
        try:
            for event in self._events:
                if self._is_stopped:
                    return
                yield event
        finally:
            # It may hold a connection, whoever else still refers to it.
            if isinstance(self._events, Generator):
                self._events.close()

    def stop(self) -> None:
        self._is_stopped = True
