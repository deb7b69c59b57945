"""Answers the requests of one connection."""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar, cast

from kcache.informers.api_errors import INTERNAL_ERROR, ApiError, ConnectionRefusedApiError
from kcache.informers.list_watch import ObjectList, Watch
from kcache_conformance.informers.fake_server import FakeServer
from kcache_conformance.informers.status import NOT_FOUND, status_object

from .client_guard import client_guard
from .connections import ConnectionServer
from .cuts import Cut, CutPlan
from .requested import Requested, parse_url

_CLOSES_WITH_RESET = struct.pack("ii", 1, 0)
_LAST_CHUNK = b"0\r\n\r\n"


class ApiHandler(BaseHTTPRequestHandler):
    """Lists and watches as the API server does (``application/json``, watches as chunks of JSON lines).

    A subclass has the attributes of the class.

    Attributes:
        resources: who answers, by the plural name of the type.
        cuts: when connections break.
        chunk_bytes: the most bytes of a chunk; 0 sends each line as one.
    """

    resources: ClassVar[Mapping[str, FakeServer]]
    cuts: ClassVar[CutPlan]
    chunk_bytes: ClassVar[int]

    protocol_version = "HTTP/1.1"
    timeout = 30.0  # of each read and write
    disable_nagle_algorithm = True

    def setup(self) -> None:
        """Begin; the server is told, so that it can end this."""
        super().setup()
        self._lock = threading.Lock()
        self._watch: Watch | None = None
        self._cut: Cut | None = None
        cast(ConnectionServer, self.server).opened(self)

    def finish(self) -> None:
        """End."""
        cast(ConnectionServer, self.server).closed(self)
        super().finish()

    def cut(self, cut: Cut) -> None:
        """Break the connection, from another thread, if it serves a watch now."""
        with self._lock:
            if self._watch is not None:
                self._cut = cut
                self._watch.stop()

    def hang_up(self) -> None:
        """End whatever is going on, from another thread."""
        with self._lock:
            if self._watch is not None:
                self._watch.stop()
        with suppress(OSError):  # The client was faster.
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: Any) -> None:
        """Tests are quiet."""

    def do_GET(self) -> None:
        """Answer a list or a watch."""
        try:
            requested = parse_url(self.path)
            if requested is None or requested.resource not in self.resources:
                raise ApiError(NOT_FOUND, "NotFound", f"the server has no {self.path}")
            if requested.is_watch:
                self._serve_watch(requested)
            else:
                self._serve_list(requested)
        except ConnectionRefusedApiError:
            self._break(b"", Cut(reset=True))
        except ApiError as error:
            self._send_json(error.code or INTERNAL_ERROR, status_object(error))

    def _serve_list(self, requested: Requested) -> None:
        resource = self.resources[requested.resource]
        page = resource.list(requested.options)
        self._send_json(200, _list_object(resource, page), self.cuts.for_list())

    def _send_json(self, code: int, content: object, cut: Cut | None = None) -> None:
        body = json.dumps(content, ensure_ascii=False).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if cut is None:
            self.wfile.write(body)
        else:
            self._break(body[: len(body) // 2] if cut.within_line else b"", cut)

    def _serve_watch(self, requested: Requested) -> None:
        resource = self.resources[requested.resource]
        watch = resource.watch(requested.options)
        with self._lock:
            self._watch = watch
        try:
            self.close_connection = True
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.send_header("Connection", "close")
            self.end_headers()
            seconds = requested.options.timeout_seconds or None
            with client_guard(self.connection, seconds, watch.stop):
                rest, cut = self._send_events(watch)
        finally:
            with self._lock:
                self._watch = None
            watch.stop()
        if cut is None:
            self.wfile.write(_LAST_CHUNK)
        else:
            self._break(rest, cut)

    def _send_events(self, watch: Watch) -> tuple[bytes, Cut | None]:
        """Send until the watch ends; how the connection is to break, if so, and what is to be sent before."""
        cuts = self.cuts.open_watch()
        line = b""
        try:
            for event in watch:
                line = json.dumps({"type": event.type, "object": event.object}, ensure_ascii=False).encode() + b"\n"
                if (cut := cuts.before_event()) is not None:
                    return _half_a_chunk(line, cut), cut
                size = self.chunk_bytes or len(line)
                for begin in range(0, len(line), size):
                    self.wfile.write(_chunk(line[begin : begin + size]))
        except (OSError, EOFError, ApiError):
            # The script broke it, or the client has gone.
            return b"", Cut(reset=True)
        with self._lock:
            cut = self._cut
        return (b"", None) if cut is None else (_half_a_chunk(line, cut), cut)

    def _break(self, rest: bytes, cut: Cut) -> None:
        self.close_connection = True
        with suppress(OSError):  # The client was faster.
            if rest:
                self.wfile.write(rest)
            if cut.reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _CLOSES_WITH_RESET)
                # By itself, a socket that files were made of closes with the last of them, and in order.
                os.close(self.connection.detach())


def _list_object(resource: FakeServer, page: ObjectList) -> dict[str, Any]:
    metadata = {"resourceVersion": page.resource_version}
    if page.continue_token:
        metadata["continue"] = page.continue_token
    # Within a list, the real server does not repeat what all items have in common.
    common = ("apiVersion", "kind")
    items = [{name: value for name, value in item.items() if name not in common} for item in page.items]
    return {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": metadata, "items": items}


def _chunk(content: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(content), content)


def _half_a_chunk(line: bytes, cut: Cut) -> bytes:
    """What is sent before a cut: if it is one within a line, half of a chunk; without a line, of a made-up event."""
    if not cut.within_line:
        return b""
    line = line or b'{"type": "MODIFIED", "object": {}}\n'
    return b"%x\r\n%b" % (len(line), line[: len(line) // 2])
