"""A small HTTP server that answers the official client, and says exactly what a test wants."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kcache.informers.kubernetes_client import list_watch_from_client
from kcache.informers.list_watch import ListOptions

client = pytest.importorskip("kubernetes.client")

LIMIT_SECONDS = 20
WATCH = ListOptions(resource_version="10", allow_watch_bookmarks=True, timeout_seconds=300)


def new_pod(name: str, version: str = "1", **labels: str) -> dict[str, Any]:
    """A pod as a manifest."""
    metadata = {"name": name, "namespace": "a", "resourceVersion": version, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


def new_pod_list(*pods: dict[str, Any], version: str = "10", token: str = "") -> dict[str, Any]:
    """The answer to a list, or to a page of one."""
    metadata = {"resourceVersion": version, **({"continue": token} if token else {})}
    return {"apiVersion": "v1", "kind": "PodList", "metadata": metadata, "items": list(pods)}


def new_status(code: int, reason: str, message: str, *causes: str) -> dict[str, Any]:
    """The answer to a request that failed."""
    details = {"causes": [{"reason": cause, "message": cause} for cause in causes]}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }


def event_line(kind: str, obj: dict[str, Any]) -> bytes:
    """An event as a watch sends it."""
    return json.dumps({"type": kind, "object": obj}, ensure_ascii=False).encode() + b"\n"


class AnsweringHandler(http.server.BaseHTTPRequestHandler):
    """Answers each request as the test has said."""

    protocol_version = "HTTP/1.1"
    server: ScriptedHttpServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_GET(self) -> None:
        """Note the request, and give the next answer."""
        url = urllib.parse.urlsplit(self.path)
        self.server.requests.append((url.path, dict(urllib.parse.parse_qsl(url.query))))
        self.server.answers.pop(0)(self)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def chunk(self, data: bytes) -> None:
        """Send a chunk of the body."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


Answer = Callable[[AnsweringHandler], object]


class ScriptedHttpServer(http.server.ThreadingHTTPServer):
    """Gives one scripted answer after the other."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), AnsweringHandler)
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.answers: list[Answer] = []
        self.is_silent = threading.Event()
        self.is_over = threading.Event()

    def api(self, kind: str = "CoreV1Api", **settings: Any) -> Any:
        """The official client's API of that kind, for this server."""
        configuration = client.Configuration()
        configuration.host = f"http://127.0.0.1:{self.server_port}"
        for name, value in {"retries": False, **settings}.items():
            setattr(configuration, name, value)
        return getattr(client, kind)(client.ApiClient(configuration))

    def json(self, content: Any, code: int = 200, **headers: str) -> None:
        """Answer with a document."""

        def answer(handler: AnsweringHandler) -> None:
            body = content if isinstance(content, bytes) else json.dumps(content).encode()
            handler.send_response(code)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Content-Length", str(len(body)))
            for name, value in headers.items():
                handler.send_header(name.replace("_", "-"), value)
            handler.end_headers()
            handler.wfile.write(body)

        self.answers.append(answer)

    def stream(self, *chunks: bytes, end: str = "end") -> None:
        """Answer with chunks, and then ``end`` the answer, ``cut`` it, or stay ``silent`` until the test is over."""

        def answer(handler: AnsweringHandler) -> None:
            handler.send_response(200)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Transfer-Encoding", "chunked")
            handler.end_headers()
            for chunk in chunks:
                handler.chunk(chunk)
            if end == "end":
                handler.wfile.write(b"0\r\n\r\n")
                return
            handler.close_connection = True
            if end == "silent":
                self.is_silent.set()
                self.is_over.wait(LIMIT_SECONDS)

        self.answers.append(answer)


@contextlib.contextmanager
def serving() -> Iterator[ScriptedHttpServer]:
    """A server that answers in a thread of its own, until this is left."""
    with ScriptedHttpServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.is_over.set()
        server.shutdown()
        thread.join(LIMIT_SECONDS)


def pods_of(server: ScriptedHttpServer, **settings: Any) -> Any:
    """Lists and watches the pods of a server with the official client."""
    return list_watch_from_client(server.api().list_namespaced_pod, namespace="a", **settings)
