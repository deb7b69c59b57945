"""The API server on a port of this machine."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType

from kcache_conformance.informers.fake_server import FakeServer

from .connections import ConnectionServer
from .cuts import Cut, CutPlan
from .handler import ApiHandler


class HttpApiServer:
    """Serves lists and watches of fake servers over HTTP, and breaks connections as a script says.

    The paths are ``/api/v1/RESOURCE`` and ``/api/v1/namespaces/NAMESPACE/RESOURCE``. A ``timeoutSeconds`` of a watch is
    real. Faults of the fake servers show: errors as a ``Status`` with its HTTP status, ends of watches as the end of
    the response, the error that a watch is cut with as a reset connection, a closed fake server as a reset before
    the answer. To be closed, or used as a context manager; its threads and sockets end
    with it, the fake servers do not: another server can go on with them, on the same port.

    Args:
        resources: who answers, by the plural name of the type; by default ``pods`` and ``configmaps``.
        port: to listen on; 0 for any that is free.
        max_connections: at the same time, each with a thread, and another if it is a watch; more are closed at once.
        chunk_bytes: lines of a watch are sent in chunks of at most so many bytes; 0 sends each line as one.
    """

    def __init__(
        self,
        resources: Mapping[str, FakeServer] | None = None,
        *,
        port: int = 0,
        max_connections: int = 32,
        chunk_bytes: int = 0,
    ) -> None:
        self.resources = dict(_default_resources() if resources is None else resources)
        self._cuts = CutPlan()
        attributes = {"resources": self.resources, "cuts": self._cuts, "chunk_bytes": chunk_bytes}
        self._server = ConnectionServer(port, type("Handler", (ApiHandler,), attributes), max_connections)

    @property
    def port(self) -> int:
        """It listens on."""
        return int(self._server.server_port)

    @property
    def url(self) -> str:
        """What clients call the host."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pods(self) -> FakeServer:
        """The truth about pods."""
        return self.resources["pods"]

    @property
    def configmaps(self) -> FakeServer:
        """The truth about config maps."""
        return self.resources["configmaps"]

    def cut_watches(self, cut: Cut | None = None) -> None:
        """Break the connections of all open watches, now; what is under way is lost."""
        for handler in self._server.handlers:
            handler.cut(cut or Cut())

    def cut_next_event(self, cut: Cut | None = None) -> None:
        """Break the connection of the next watch that has an event to send; repeated calls add up."""
        self._cuts.cut_next_event(cut or Cut(within_line=True))

    def cut_next_list(self, cut: Cut | None = None) -> None:
        """Break the connection of the next list that is not refused; repeated calls add up."""
        self._cuts.cut_next_list(cut or Cut(within_line=True))

    def cut_at_random(self, probability: float, seed: int = 0) -> None:
        """Break watches that begin from now on, at each event with this probability, in any way; 0 for no more."""
        self._cuts.cut_at_random(probability, seed)

    def close(self) -> None:
        """Stop listening, and end all connections and threads. May be called twice.

        Raises:
            RuntimeError: a thread did not end.
            Exception: the first error that came up inside.
        """
        self._server.close()
        if self._server.errors:
            raise self._server.errors.pop(0)

    def __enter__(self) -> HttpApiServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _default_resources() -> Mapping[str, FakeServer]:
    # Clients insist on the containers of a pod.
    return {"pods": FakeServer("Pod", default_spec={"containers": []}), "configmaps": FakeServer("ConfigMap")}
