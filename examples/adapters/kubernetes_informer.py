"""A target: the informer of the official Kubernetes client (PyPI ``kubernetes``, since 36.0.0).

``SharedInformer`` takes a list method of the client, which lists, or watches if it is told so. Here it gets a function
that asks a :class:`~kcache.informers.ListerWatcher` instead; objects stay manifests. Calls get the names of client-go;
nothing else is changed: what is found is the informer's.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import kubernetes.informer.informer as official
import urllib3.exceptions
from kubernetes.client.exceptions import ApiException

from kcache.informers import ApiError, ListerWatcher, ListOptions, Watch

UNSUPPORTED = (
    "old_objects",  # a handler of MODIFIED gets one object
    "tombstones",  # a handler of DELETED gets what was in the cache
    "is_in_initial_list",
    "registration.has_synced",
    "add_indexers",
    "set_transform",
    "resync",  # it lists again, when the server ends the watch after a time that it was asked for
)


@dataclass(frozen=True)
class Registration:
    """The functions that were registered for a handler, by the type of event."""

    functions: tuple[tuple[str, Any], ...]


class OfficialInformer:
    """The informer under the names of client-go.

    Args:
        lister_watcher: where objects come from.
    """

    def __init__(self, lister_watcher: ListerWatcher) -> None:
        self._list_func = _ListFunc(lister_watcher)
        new_informer: Any = official.SharedInformer  # it is not annotated
        self._informer = new_informer(self._list_func.call)

    def add_event_handler(self, handler: Any) -> Registration:
        """Register functions for all three types of events that matter."""
        functions = (
            (official.ADDED, lambda obj: handler.on_add(obj, False)),
            (official.MODIFIED, lambda obj: handler.on_update(None, obj)),
            (official.DELETED, handler.on_delete),
        )
        for event_type, function in functions:
            self._informer.add_event_handler(event_type, function)
        return Registration(functions)

    def remove_event_handler(self, registration: Registration) -> None:
        """Deregister them."""
        for event_type, function in registration.functions:
            self._informer.remove_event_handler(event_type, function)

    def start(self) -> None:
        """What the informer does."""
        self._informer.start()

    def stop(self) -> None:
        """What the informer does."""
        self._informer.stop()

    def has_synced(self) -> bool:
        """Whether the informer has begun to watch, which it does when it is through with the initial list."""
        return self._list_func.has_watched.is_set()

    def get_store(self) -> Any:
        """The cache."""
        return self._informer.cache


class _ListFunc:
    """What the official client's list methods are to it."""

    def __init__(self, lister_watcher: ListerWatcher) -> None:
        self._lister_watcher = lister_watcher
        self.has_watched = threading.Event()

    def call(self, *, watch: bool = False, resource_version: str = "", **_: Any) -> Any:
        """List or watch.

        :rtype: object
        """
        # Without that line in the docstring, the client does not know that it gets objects, and forgets how far it has
        # got; with it, they stay manifests.
        options = ListOptions(resource_version=resource_version)
        try:
            if watch:
                self.has_watched.set()
                return _Response(self._lister_watcher.watch(options))
            listed = self._lister_watcher.list(options)
        except ApiError as error:
            raise ApiException(status=error.code, reason=str(error)) from error
        return SimpleNamespace(items=listed.items, metadata=SimpleNamespace(resource_version=listed.resource_version))


class _Response:
    """The body of a watch, as the client reads it from urllib3; it can be shut down like a socket."""

    status = 200

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.connection = SimpleNamespace(sock=SimpleNamespace(shutdown=self._shut_down))

    def stream(self, amt: int | None = None, decode_content: bool | None = None) -> Iterator[bytes]:  # noqa: ARG002
        """One line for each event."""
        try:
            for event in self._watch:
                yield json.dumps({"type": event.type, "object": event.object}).encode() + b"\n"
        except (EOFError, ConnectionError, ApiError) as error:
            raise urllib3.exceptions.ProtocolError(f"Connection broken: {error!r}", error) from error

    def close(self) -> None:
        """End the watch."""
        self._watch.stop()

    def release_conn(self) -> None:
        """Nothing is pooled."""

    def _shut_down(self, _how: int) -> None:
        self._watch.stop()


def official_informer(lister_watcher: ListerWatcher) -> OfficialInformer:
    """A new informer that has not been started."""
    return OfficialInformer(lister_watcher)


official_informer.kcache_unsupported = UNSUPPORTED  # type: ignore[attr-defined]
official_informer.kcache_instrument = ("kubernetes.informer",)  # type: ignore[attr-defined]
