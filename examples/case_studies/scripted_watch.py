"""An API server without a network: watches whose streams bring nothing, and end as the script says."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace


class ScriptedServer:
    """Takes the place of an API server.

    Args:
        brief: how many streams end at once; later ones are quiet until they are stopped, or the server is closed.
    """

    def __init__(self, brief: int) -> None:
        self.changed = threading.Condition()
        self.closed = False
        self._brief = brief

    def list(self, **_: object) -> SimpleNamespace:
        """There are no objects."""
        return SimpleNamespace(items=[], metadata=SimpleNamespace(resource_version="1"))

    def watch(self) -> ScriptedWatch:
        """A new watch; in the informer's module, this takes the place of ``Watch``."""
        return ScriptedWatch(self)

    def ends_at_once(self) -> bool:
        """Whether the next stream is one of the brief ones."""
        with self.changed:
            self._brief -= 1
            return self._brief >= 0

    def close(self) -> None:
        """End all streams, those to come included."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()


class ScriptedWatch:
    """What an informer needs of ``kubernetes.watch.Watch``, and kinder: it never forgets that it was stopped."""

    resource_version = None

    def __init__(self, server: ScriptedServer) -> None:
        self._server = server
        self._stopped = False

    def stream(self, *_: object, **__: object) -> Iterator[dict[str, object]]:
        """Bring no event until the stream ends."""
        if not self._server.ends_at_once():
            with self._server.changed:
                self._server.changed.wait_for(lambda: self._stopped or self._server.closed)
        yield from ()

    def stop(self) -> None:
        """End the stream, or the one that is to come."""
        with self._server.changed:
            self._stopped = True
            self._server.changed.notify_all()
