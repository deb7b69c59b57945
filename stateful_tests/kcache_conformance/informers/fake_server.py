"""A Kubernetes API server in memory, for one type of objects; an informer's cache is compared with its objects."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from kcache.informers.api_errors import ApiError, ConnectionRefusedApiError, is_expired
from kcache.informers.list_watch import (
    ADDED,
    BOOKMARK,
    DELETED,
    ERROR,
    MODIFIED,
    ListOptions,
    ObjectList,
    Watch,
    WatchEvent,
)

from .answers import answer_list, answer_watch, parse_resource_version
from .history import Audience, History
from .manifests import Labels, Manifest, changed, key_of
from .requests import LIST, WATCH, Request
from .status import CONFLICT, NOT_FOUND, status_object
from .watch_stream import FailedWatch, WatchStream


class FakeServer:
    """API server that lists and watches like a real server (a ``ListerWatcher``), and fails when the script says so.

    Thread-safe and deterministic: there is no clock and no randomness. A watch ends only when the script or its client
    ends it; its time-out is ignored. All clients receive the stored objects themselves: they must not change them.

    Args:
        kind: the kind of the objects.
        api_version: the API version of the objects.
        default_spec: default fields of the spec of a new object.
        cache_pages: whether lists with resource version ``"0"`` come in pages, as from a server without a watch cache.
            By default, their limit is ignored, as a server with a watch cache does. Other lists always come in pages.
        expires_in_stream: whether a watch from a compacted resource version fails with an ``ERROR`` event, as on a real
            server; otherwise :meth:`watch` raises.
        before_request: called with each request before it is answered, in the thread of the client. It may change
            objects, or block. It may be replaced at any time.
    """

    def __init__(
        self,
        kind: str = "Pod",
        api_version: str = "v1",
        *,
        default_spec: Mapping[str, Any] | None = None,
        cache_pages: bool = False,
        expires_in_stream: bool = True,
        before_request: Callable[[Request], object] | None = None,
    ) -> None:
        self.kind = kind
        self.api_version = api_version
        self._default_spec = dict(default_spec or {})
        self.cache_pages = cache_pages
        self.expires_in_stream = expires_in_stream
        self.before_request = before_request
        self._history = History()
        self._created = 0
        self._audience = Audience.ALL
        self._stale: int | None = None
        self._requests: list[Request] = []
        self._refusals: dict[str, list[Exception]] = {LIST: [], WATCH: []}
        self._watches: Sequence[WatchStream] = ()
        self._is_closed = False

    # Changes of objects.

    def create(self, name: str, namespace: str = "default", *, labels: Labels | None = None, **spec: Any) -> Manifest:
        """Create an object with a unique uid; raises an ``ApiError`` (409) if an object of that name exists."""
        with self._history.grown:
            key = key_of(name, namespace)
            if key in self._history.current:
                raise ApiError(CONFLICT, "AlreadyExists", f"{self.kind} {key!r} already exists")
            self._created += 1
            metadata: Manifest = {"name": name}
            if namespace:
                metadata["namespace"] = namespace
            version = str(self._history.resource_version + 1)
            metadata |= {"uid": f"uid-{self._created}", "resourceVersion": version}
            if labels:
                metadata["labels"] = dict(labels)
            manifest = {
                "apiVersion": self.api_version,
                "kind": self.kind,
                "metadata": metadata,
                "spec": self._default_spec | spec,
            }
            self._history.change(key, WatchEvent(ADDED, manifest), self._audience)
        return manifest

    def update(self, name: str, namespace: str = "default", *, labels: Labels | None = None, **spec: Any) -> Manifest:
        """Change fields of the spec, and the labels if given; raises an ``ApiError`` (404) if the object is missing."""
        return self._change(MODIFIED, name, namespace, labels, spec=spec)

    def update_status(self, name: str, namespace: str = "default", **status: Any) -> Manifest:
        """Change fields of the status only; raises an ``ApiError`` (404) if the object is missing."""
        return self._change(MODIFIED, name, namespace, status=status)

    def delete(self, name: str, namespace: str = "default") -> Manifest:
        """Delete an object; raises an ``ApiError`` (404) if it is missing.

        Returns:
            Its last state, with the resource version of the deletion.
        """
        return self._change(DELETED, name, namespace)

    def advance(self, count: int = 1) -> None:
        """Simulate changes of objects of other types: only the resource version grows, by ``count``."""
        with self._history.grown:
            self._history.resource_version += count

    @property
    def resource_version(self) -> str:
        """The resource version of the latest change."""
        with self._history.grown:
            return str(self._history.resource_version)

    def snapshot(self) -> dict[str, Manifest]:
        """The objects that exist, by key (``namespace/name``)."""
        with self._history.grown:
            return dict(self._history.current)

    def history(self) -> tuple[WatchEvent, ...]:
        """All changes, in order, including changes that were compacted or that no watch received."""
        with self._history.grown:
            entries = self._history.entries[:]
        return tuple(entry.event for entry in entries if entry.is_change and entry.event is not None)

    # Requests of clients.

    def list(self, options: ListOptions, /) -> ObjectList:
        """Return one page of objects, ordered by key; raises an ``ApiError`` if a real server would refuse the request.

        If the script refuses the request, its error is raised.
        """
        self._note(Request(LIST, options))
        with self._history.grown:
            self._accept(LIST)
            return answer_list(self._history, options, self._cached_at(), self.cache_pages)

    def watch(self, options: ListOptions, /) -> Watch:
        """Stream the changes since a resource version, or all objects as ``ADDED`` first; raises as :meth:`list`."""
        self._note(Request(WATCH, options))
        with self._history.grown:
            self._accept(WATCH)
            try:
                stream = answer_watch(self._history, options, self._cached_at())
            except ApiError as error:
                if self.expires_in_stream and is_expired(error):
                    return FailedWatch(WatchEvent(ERROR, status_object(error)))
                raise
            self._watches = [*self._open_watches(), stream]
            self._history.observed.notify_all()
        return stream

    # Control of watches by a script.

    def inject(self, event: WatchEvent) -> None:
        """Send a false event to the open watches: no object changes, and later watches do not receive the event."""
        with self._history.grown:
            self._history.send(event, Audience.OPEN)

    @contextmanager
    def lose_events(self) -> Iterator[None]:
        """Within the ``with`` block, changes of objects are not sent to the open watches.

        Together with :meth:`inject`, the script can send them in another order.
        """
        with self._history.grown:
            self._audience = Audience.LATER
        try:
            yield
        finally:
            with self._history.grown:
                self._audience = Audience.ALL

    def send_bookmark(self) -> None:
        """Send a bookmark with the present resource version to the open watches that asked for bookmarks."""
        with self._history.grown:
            metadata = {"resourceVersion": str(self._history.resource_version)}
            manifest = {"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata}
            self._history.send(WatchEvent(BOOKMARK, manifest), Audience.BOOKMARKED)

    def cut_watches(self, error: Exception | None = None, *, at_once: bool = False) -> None:
        """End the open watches, after the events that were sent before.

        Args:
            error: their iteration raises a copy of this error, as if the connection broke; ``None`` ends it normally.
            at_once: whether to drop the events that have not been read, and ``error``.
        """
        with self._history.grown:
            self._history.end_streams(error=error)
            if at_once:
                self._end_watches()

    def end_watches_with_error(self, code: int, reason: str = "", message: str = "") -> None:
        """End the open watches with an ``ERROR`` event that carries a ``Status``."""
        status = status_object(ApiError(code, reason, message))
        with self._history.grown:
            self._history.end_streams(WatchEvent(ERROR, status))

    # Control of requests by a script.

    def compact(self) -> None:
        """Compact the history up to now: requests from an earlier resource version get a 410; open watches go on."""
        with self._history.grown:
            self._history.compact()

    def refuse_lists(self, count: int, error: Exception) -> None:
        """Let the next ``count`` lists raise a copy of ``error``; repeated calls add up."""
        with self._history.grown:
            self._refusals[LIST] += [error] * count

    def refuse_watches(self, count: int, error: Exception) -> None:
        """Let the next ``count`` watches raise a copy of ``error``; repeated calls add up."""
        with self._history.grown:
            self._refusals[WATCH] += [error] * count

    def stop_refusing(self) -> None:
        """Cancel all refusals that are left."""
        with self._history.grown:
            self._refusals = {LIST: [], WATCH: []}

    def serve_stale(self, resource_version: str | None) -> None:
        """Answer from a cache that has reached only ``resource_version``, as a replica that lags; ``None`` ends this.

        Lists with ``"0"`` show an old state; lists from later versions get a 504; lists with ``""`` are up to date.
        """
        with self._history.grown:
            self._stale = parse_resource_version(resource_version or "")

    def close(self) -> None:
        """End all watches; all later requests raise a ``ConnectionRefusedApiError``. May be called twice."""
        with self._history.grown:
            self._is_closed = True
            self._end_watches()

    # Observations and waiting by a test.

    @property
    def requests(self) -> tuple[Request, ...]:
        """All requests so far, including refused requests."""
        with self._history.grown:
            return tuple(self._requests)

    @property
    def open_watches(self) -> int:
        """The number of open watches."""
        with self._history.grown:
            return len(self._open_watches())

    def wait_for_requests(self, count: int, seconds: float = 10.0) -> bool:
        """Wait until there have been at least ``count`` requests; return false after ``seconds``."""
        return self._wait_for(lambda: len(self._requests) >= count, seconds)

    def wait_for_watchers(self, count: int, seconds: float = 10.0) -> bool:
        """Wait until exactly ``count`` watches are open; return false after ``seconds``."""
        return self._wait_for(lambda: len(self._open_watches()) == count, seconds)

    def wait_until_caught_up(self, watchers: int = 1, seconds: float = 10.0) -> bool:
        """Wait until at least ``watchers`` watches are open, and all have read all events and wait for more.

        Return false after ``seconds``.
        """

        def are_caught_up() -> bool:
            watches = self._open_watches()
            return len(watches) >= watchers and all(watch.is_caught_up for watch in watches)

        return self._wait_for(are_caught_up, seconds)

    # Private; from `_accept` on, the caller holds the lock of the history.

    def _change(
        self, kind: str, name: str, namespace: str, labels: Labels | None = None, **fields: Mapping[str, Any]
    ) -> Manifest:
        with self._history.grown:
            key = key_of(name, namespace)
            if key not in self._history.current:
                raise ApiError(NOT_FOUND, "NotFound", f"{self.kind} {key!r} not found")
            manifest = changed(self._history.current[key], self._history.resource_version + 1, labels, **fields)
            self._history.change(key, WatchEvent(kind, manifest), self._audience)
        return manifest

    def _wait_for(self, condition: Callable[[], bool], seconds: float) -> bool:
        with self._history.observed:
            return self._history.observed.wait_for(condition, seconds)

    def _note(self, request: Request) -> None:
        with self._history.observed:
            self._requests.append(request)
            self._history.observed.notify_all()
        if self.before_request is not None:
            self.before_request(request)

    def _accept(self, verb: str) -> None:
        if self._is_closed:
            raise ConnectionRefusedApiError
        if self._refusals[verb]:
            raise copy.copy(self._refusals[verb].pop(0))  # a copy, because a raised error collects its traceback

    def _cached_at(self) -> int:
        return self._history.resource_version if self._stale is None else self._stale

    def _open_watches(self) -> Sequence[WatchStream]:
        return [watch for watch in self._watches if watch.is_open]

    def _end_watches(self) -> None:
        for watch in self._watches:
            watch.end()
        self._history.grown.notify_all()
