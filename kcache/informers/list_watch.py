"""Requests of a reflector to an API server: lists and watches (client-go ``listwatch.go``)."""

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
    """The options of a request (``metav1.ListOptions``).

    Attributes:
        resource_version: for a list: the minimum version of the result; ``"0"`` for any version that the server has in
            its cache, ``""`` for the newest. For a watch: the changes after this version. Opaque: pass the server's
            value unchanged.
        limit: the maximum number of objects of a page; 0 for all.
        continue_token: the token of the previous page, which requests the next page.
        allow_watch_bookmarks: whether a watch may contain bookmarks: a resource version without a change.
        timeout_seconds: the time after which the server ends a watch.
        label_selector: selects objects by label.
        field_selector: selects objects by field.
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
        resource_version: the version of the list.
        continue_token: requests the next page; ``""`` on the last page.
    """

    items: Sequence[Any]
    resource_version: str
    continue_token: str = ""


@dataclass(frozen=True)
class WatchEvent:
    """One event of a watch: a change, a bookmark or an error.

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
        """Yield the events as they arrive; raises an :class:`~.api_errors.ApiError` if the connection fails."""
        ...

    def stop(self) -> None:
        """End the iteration at once; any thread may call this, also twice, and before the iteration has begun."""


class ListerWatcher(Protocol):
    """Lists and watches objects of one type (client-go ``ListerWatcher``)."""

    def list(self, options: ListOptions, /) -> ObjectList:
        """Return one page of objects; raises an :class:`~.api_errors.ApiError` if the server rejects the request."""
        ...

    def watch(self, options: ListOptions, /) -> Watch:
        """Watch the changes since ``options.resource_version``; raises the errors of :meth:`list`."""
        ...


ListFunc: TypeAlias = Callable[[ListOptions], ObjectList]
WatchFunc: TypeAlias = "Callable[[ListOptions], Watch | Iterable[WatchEvent]]"


class ListWatch:
    """A lister and watcher from two functions (client-go ``ListWatch``).

    Args:
        list_func: returns a page.
        watch_func: returns a :class:`Watch`, or any iterable of events. An iterable without ``stop`` cannot be
            interrupted: the informer stops at its next event, or at its end.
    """

    def __init__(self, list_func: ListFunc, watch_func: WatchFunc) -> None:
        self._list_func = list_func
        self._watch_func = watch_func

    def list(self, options: ListOptions, /) -> ObjectList:
        """Return the result of ``list_func``."""
        return self._list_func(options)

    def watch(self, options: ListOptions, /) -> Watch:
        """Return the result of ``watch_func``, as a :class:`Watch`."""
        events = self._watch_func(options)
        return events if isinstance(events, Watch) else _Uninterruptible(events)


class _Uninterruptible:
    """A watch from a plain iterable; its ``stop`` takes effect at the next event."""

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
            # The generator may hold a connection, and others may refer to it: so close it explicitly.
            if isinstance(self._events, Generator):
                self._events.close()

    def stop(self) -> None:
        self._is_stopped = True
