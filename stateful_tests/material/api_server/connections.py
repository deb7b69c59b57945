"""A server with one thread per connection, few of them, and none left behind."""

from __future__ import annotations

import socket
import socketserver
import sys
import threading
from http.server import HTTPServer
from typing import Any, Protocol


class Handler(Protocol):
    """What serves a connection."""

    def hang_up(self) -> None:
        """End at once; is called by another thread."""


class ConnectionServer(HTTPServer):
    """Accepts connections in a thread of its own; closing it ends them all.

    Args:
        port: on this machine; 0 for any that is free.
        handler: the class that serves a connection; tells :meth:`opened` and :meth:`closed`.
        max_connections: more are closed at once.

    Attributes:
        errors: what went wrong in here, other than with a connection.
    """

    request_queue_size = 64

    def __init__(self, port: int, handler: type[socketserver.BaseRequestHandler], max_connections: int) -> None:
        super().__init__(("127.0.0.1", port), handler)
        self.errors: list[BaseException] = []
        self._max_connections = max_connections
        self._lock = threading.Lock()
        self._is_closing = False
        self._threads: set[threading.Thread] = set()
        self._handlers: dict[int, Any] = {}
        self._accepting = threading.Thread(target=self.serve_forever, args=(0.02,), name="accept", daemon=True)
        self._accepting.start()

    @property
    def handlers(self) -> tuple[Any, ...]:
        """Of the connections that are open."""
        with self._lock:
            return tuple(self._handlers.values())

    def opened(self, handler: Handler) -> None:
        """A handler begins."""
        with self._lock:
            self._handlers[id(handler)] = handler
            is_closing = self._is_closing
        if is_closing:
            handler.hang_up()

    def closed(self, handler: Handler) -> None:
        """A handler ends."""
        with self._lock:
            self._handlers.pop(id(handler), None)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in another thread."""
        with self._lock:
            # A thread is left for others to take out: who ends the server joins it to its very end.
            self._threads = {thread for thread in self._threads if thread.is_alive()}
            if len(self._threads) < self._max_connections:
                thread = threading.Thread(
                    target=self._serve, args=(request, client_address), name="connection", daemon=True
                )
                self._threads.add(thread)
                thread.start()
                return
        self.shutdown_request(request)

    def _serve(self, request: socket.socket, client_address: Any) -> None:
        try:
            self.finish_request(request, client_address)
        except Exception:
            self.handle_error(request, client_address)
        finally:
            self.shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Remember what is not the fault of a connection."""
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):
            self.errors.append(error)

    def close(self, seconds: float = 10.0) -> None:
        """End the connections and the threads.

        Raises:
            RuntimeError: a thread did not end within ``seconds``.
        """
        self.shutdown()
        self._accepting.join(seconds)
        self.server_close()
        with self._lock:
            self._is_closing = True
            handlers, threads = tuple(self._handlers.values()), tuple(self._threads)
        for handler in handlers:
            handler.hang_up()
        for thread in threads:
            thread.join(seconds)
            if thread.is_alive():
                raise RuntimeError(f"the thread of a connection did not end within {seconds} s")
