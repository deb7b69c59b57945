"""Lists and watches with the official client, against a small HTTP server on this machine."""

from __future__ import annotations

import http.server
import json
import socket
import sys
import threading
import time
import types
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kcache
from kcache.informers.api_errors import ApiError, ConnectionRefusedApiError
from kcache.informers.kubernetes_client import list_watch_from_client
from kcache.informers.kubernetes_watch import KubernetesWatch
from kcache.informers.list_watch import ADDED, BOOKMARK, ERROR, MODIFIED, ListOptions, WatchEvent
from kcache.informers.reflector import Reflector
from kcache.informers.stopping import StopSignal

client = pytest.importorskip("kubernetes.client")

_LIMIT_SECONDS = 20
_WATCH = ListOptions(resource_version="10", allow_watch_bookmarks=True, timeout_seconds=300)


def _pod(name: str, version: str = "1", **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "a", "resourceVersion": version, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


def _pod_list(*pods: dict[str, Any], version: str = "10", token: str = "") -> dict[str, Any]:
    metadata = {"resourceVersion": version, **({"continue": token} if token else {})}
    return {"apiVersion": "v1", "kind": "PodList", "metadata": metadata, "items": list(pods)}


def _status(code: int, reason: str, message: str, *causes: str) -> dict[str, Any]:
    details = {"causes": [{"reason": cause, "message": cause} for cause in causes]}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }


def _line(kind: str, obj: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": obj}, ensure_ascii=False).encode() + b"\n"


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        self.server.requests.append((url.path, dict(urllib.parse.parse_qsl(url.query))))
        self.server.answers.pop(0)(self)

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


Answer = Callable[[_Handler], object]


class _Server(http.server.ThreadingHTTPServer):
    """Gives one scripted answer after the other."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.answers: list[Answer] = []
        self.is_silent = threading.Event()
        self.is_over = threading.Event()

    def api(self, kind: str = "CoreV1Api", **settings: Any) -> Any:
        configuration = client.Configuration()
        configuration.host = f"http://127.0.0.1:{self.server_port}"
        for name, value in {"retries": False, **settings}.items():
            setattr(configuration, name, value)
        return getattr(client, kind)(client.ApiClient(configuration))

    def json(self, content: Any, code: int = 200, **headers: str) -> None:
        """Answer with a document."""

        def answer(handler: _Handler) -> None:
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

        def answer(handler: _Handler) -> None:
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
                self.is_over.wait(_LIMIT_SECONDS)

        self.answers.append(answer)


@pytest.fixture
def server() -> Iterator[_Server]:
    with _Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.is_over.set()
        server.shutdown()
        thread.join(_LIMIT_SECONDS)


def _pods(server: _Server, **settings: Any) -> Any:
    return list_watch_from_client(server.api().list_namespaced_pod, namespace="a", **settings)


# Lists


def test_a_list_gives_models(server: _Server) -> None:
    server.json(_pod_list(_pod("x", "3", app="é"), _pod("y", "4")))
    page = _pods(server).list(ListOptions(resource_version="0", limit=500))
    assert [type(pod) for pod in page.items] == [client.V1Pod] * 2
    assert [kcache.meta_namespace_key_func(pod) for pod in page.items] == ["a/x", "a/y"]
    assert page.items[0].metadata.labels == {"app": "é"}
    assert (page.resource_version, page.continue_token) == ("10", "")
    assert server.requests == [("/api/v1/namespaces/a/pods", {"resourceVersion": "0", "limit": "500"})]


def test_a_list_gives_and_takes_continue_tokens(server: _Server) -> None:
    server.json(_pod_list(_pod("x"), token="more"))
    server.json(_pod_list(_pod("y")))
    pods = _pods(server)
    assert pods.list(ListOptions(limit=1)).continue_token == "more"
    pods.list(ListOptions(limit=1, continue_token="more"))
    assert server.requests[1][1] == {"limit": "1", "continue": "more"}


def test_nothing_is_said_that_was_not_asked_for(server: _Server) -> None:
    server.json(_pod_list())
    _pods(server).list(ListOptions())
    assert server.requests[0][1] == {}


def test_selectors_are_sent_and_must_all_hold(server: _Server) -> None:
    server.json(_pod_list())
    server.json(_pod_list())
    pods = _pods(server, label_selector="app=x", field_selector="spec.nodeName=n")
    pods.list(ListOptions())
    pods.list(ListOptions(label_selector="tier=web", field_selector="status.phase=Running"))
    assert [query for _, query in server.requests] == [
        {"labelSelector": "app=x", "fieldSelector": "spec.nodeName=n"},
        {"labelSelector": "app=x,tier=web", "fieldSelector": "spec.nodeName=n,status.phase=Running"},
    ]


def test_custom_objects_are_manifests(server: _Server) -> None:
    server.json({"metadata": {"resourceVersion": "7", "continue": "t"}, "items": [_pod("x")]})
    server.stream(_line(ADDED, _pod("y", "8")))
    widgets = list_watch_from_client(
        server.api("CustomObjectsApi").list_namespaced_custom_object,
        namespace="a",
        group="example.com",
        version="v1",
        plural="widgets",
    )
    page = widgets.list(ListOptions())
    assert (list(page.items), page.resource_version, page.continue_token) == ([_pod("x")], "7", "t")
    assert list(widgets.watch(_WATCH)) == [WatchEvent(ADDED, _pod("y", "8"))]
    assert server.requests[0][0] == "/apis/example.com/v1/namespaces/a/widgets"


def test_methods_without_a_namespace(server: _Server) -> None:
    server.json(_pod_list())
    list_watch_from_client(server.api().list_pod_for_all_namespaces).list(ListOptions())
    assert server.requests[0][0] == "/api/v1/pods"


# Watches


def test_a_watch_says_where_it_begins_and_how_long_it_lasts(server: _Server) -> None:
    server.stream(_line(ADDED, _pod("x")))
    list(_pods(server, label_selector="app=x").watch(_WATCH))
    path, query = server.requests[0]
    assert path == "/api/v1/namespaces/a/pods"
    assert {name: value.lower() for name, value in query.items()} == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "10",
        "timeoutSeconds": "300",
        "labelSelector": "app=x",
    }


def test_a_watch_without_a_time_limit(server: _Server) -> None:
    server.stream(_line(ADDED, _pod("x")))
    assert len(list(_pods(server).watch(ListOptions()))) == 1


def test_events_carry_models_but_for_bookmarks_and_errors(server: _Server) -> None:
    bookmark = {"apiVersion": "v1", "kind": "Pod", "metadata": {"resourceVersion": "12"}}
    gone = _status(410, "Expired", "too old")
    server.stream(_line(ADDED, _pod("x", "11")), _line(BOOKMARK, bookmark), b"\n", _line(ERROR, gone))
    added, *others = _pods(server).watch(_WATCH)
    assert added.type == ADDED
    assert isinstance(added.object, client.V1Pod)
    assert added.object.metadata.resource_version == "11"
    assert others == [WatchEvent(BOOKMARK, bookmark), WatchEvent(ERROR, gone)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_lines_and_characters_may_be_split_over_chunks(server: _Server, size: int) -> None:
    text = _line(ADDED, _pod("x", "11", app="é€😀")) + _line(MODIFIED, _pod("x", "12", app="ü"))
    server.stream(*[text[start : start + size] for start in range(0, len(text), size)])
    events = list(_pods(server).watch(_WATCH))
    assert [event.object.metadata.labels["app"] for event in events] == ["é€😀", "ü"]


def test_an_event_arrives_before_the_next_one_is_sent(server: _Server) -> None:
    server.stream(_line(ADDED, _pod("x")), end="silent")
    watch = _pods(server).watch(_WATCH)
    assert next(iter(watch)).object.metadata.name == "x"
    watch.stop()


def test_an_answer_that_is_not_chunked_arrives_at_once_too(server: _Server) -> None:
    def answer(handler: _Handler) -> None:
        handler.close_connection = True
        handler.send_response(200)
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(_line(ADDED, _pod("x")))
        handler.wfile.flush()
        server.is_over.wait(_LIMIT_SECONDS)

    server.answers.append(answer)
    watch = _pods(server).watch(_WATCH)
    assert next(iter(watch)).object.metadata.name == "x"
    watch.stop()


@pytest.mark.parametrize("rest", [b"", b'{"type": "ADDED", "obj'])
def test_a_connection_that_is_cut_ends_the_watch_after_the_last_whole_event(server: _Server, rest: bytes) -> None:
    server.stream(*filter(None, [_line(ADDED, _pod("x")), rest]), end="cut")
    assert [event.object.metadata.name for event in _pods(server).watch(_WATCH)] == ["x"]


def test_a_last_line_may_lack_its_end(server: _Server) -> None:
    server.stream(_line(ADDED, _pod("x")), _line(ADDED, _pod("y")).rstrip())
    assert [event.object.metadata.name for event in _pods(server).watch(_WATCH)] == ["x", "y"]


def test_a_server_that_has_gone_silent_ends_the_watch(server: _Server) -> None:
    server.stream(_line(ADDED, _pod("x")), end="silent")
    watch = _pods(server, _request_timeout=(5, 0.05)).watch(_WATCH)
    assert [event.object.metadata.name for event in watch] == ["x"]


@pytest.mark.parametrize("line", [b"{nonsense\n", b"5\n", b'{"type": "ADDED"}\n', b"\xff\xfe\n"])
def test_what_is_no_event_is_an_internal_error(server: _Server, line: bytes) -> None:
    server.stream(_line(ADDED, _pod("x")), line, _line(ADDED, _pod("y")))
    with pytest.raises(ApiError, match="unable to decode an event") as caught:
        list(_pods(server).watch(_WATCH))
    assert (caught.value.code, caught.value.reason) == (500, "InternalError")


# Stopping


def _old_response(response: Any) -> Any:
    """A response as urllib3 had it before it could be shut down or read in part."""

    class Old:
        def __getattr__(self, name: str) -> Any:
            if name in ("shutdown", "read1"):
                raise AttributeError(name)
            return getattr(response, name)

    return Old()


@pytest.mark.parametrize("wrap", [lambda response: response, _old_response], ids=["new", "old"])
@pytest.mark.parametrize("count", [0, 1])
def test_stop_ends_a_read_that_waits(server: _Server, wrap: Callable[[Any], Any], count: int) -> None:
    server.stream(*[_line(ADDED, _pod("x"))] * count, end="silent")
    watch = _pods(server).watch(_WATCH)
    watch._response = wrap(watch._response)
    events: list[WatchEvent] = []

    def read() -> None:
        for event in watch:
            events.append(event)  # noqa: PERF402  # one by one, for the other thread to see

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    assert server.is_silent.wait(_LIMIT_SECONDS)
    _wait_until(lambda: len(events) == count and watch._reading.locked())
    before = time.monotonic()
    watch.stop()
    thread.join(_LIMIT_SECONDS)
    assert not thread.is_alive()
    assert time.monotonic() - before < 5
    assert len(events) == count
    assert watch._response.closed
    watch.stop()


def _wait_until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + _LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0)


def test_stop_before_the_iteration(server: _Server) -> None:
    server.stream(_line(ADDED, _pod("x")), end="silent")
    watch = _pods(server).watch(_WATCH)
    watch.stop()
    watch.stop()
    assert list(watch) == []
    assert watch._response.closed


def test_stop_between_two_events(server: _Server) -> None:
    server.stream(_line(ADDED, _pod("x")) + _line(ADDED, _pod("y")), end="silent")
    watch = _pods(server).watch(_WATCH)
    seen = []
    for event in watch:
        seen.append(event.object.metadata.name)
        watch.stop()
    assert seen == ["x"]


def test_stop_after_the_end(server: _Server) -> None:
    server.stream(_line(ADDED, _pod("x")))
    watch = _pods(server).watch(_WATCH)
    assert len(list(watch)) == 1
    watch.stop()


def test_errors_that_stop_provokes_are_no_errors() -> None:
    class Response:
        def read1(self, amount: int, decode_content: bool) -> bytes:
            watch.stop()
            raise OSError("bad file descriptor")

        def shutdown(self) -> None:
            raise RuntimeError("released already")

        def close(self) -> None:
            """Nothing to close."""

        release_conn = close

    watch = KubernetesWatch(Response(), lambda manifest: manifest)
    assert list(watch) == []


# Errors


@pytest.mark.parametrize("call", ["list", "watch"])
def test_a_refusal_tells_its_code_reason_message_and_causes(server: _Server, call: str) -> None:
    server.json(_status(504, "Timeout", "Too large resource version: 9", "ResourceVersionTooLarge"), 504)
    with pytest.raises(ApiError) as caught:
        getattr(_pods(server), call)(_WATCH)
    error = caught.value
    assert (error.code, error.reason) == (504, "Timeout")
    assert (error.message, error.causes) == ("Too large resource version: 9", ("ResourceVersionTooLarge",))
    assert isinstance(error.__cause__, client.ApiException)


@pytest.mark.parametrize("call", ["list", "watch"])
@pytest.mark.parametrize("body", [b"bad gateway", b"", b'["Status"]', b"\xff"])
def test_a_refusal_of_something_else_than_an_api_server(server: _Server, call: str, body: bytes) -> None:
    server.json(body, 502)
    with pytest.raises(ApiError) as caught:
        getattr(_pods(server), call)(_WATCH)
    assert (caught.value.code, caught.value.reason, caught.value.causes) == (502, "", ())


@pytest.mark.parametrize("call", ["list", "watch"])
def test_a_busy_server(server: _Server, call: str) -> None:
    server.json(_status(429, "TooManyRequests", "later"), 429, Retry_After="7")
    with pytest.raises(ApiError, match="later") as caught:
        getattr(_pods(server), call)(_WATCH)
    assert caught.value.code == 429


def test_a_server_that_is_busy_whenever_the_client_repeats_its_request(server: _Server) -> None:
    for _ in range(2):
        server.json(_status(429, "TooManyRequests", "later"), 429, Retry_After="0")
    pods = list_watch_from_client(server.api(retries=1).list_namespaced_pod, namespace="a")
    with pytest.raises(ApiError) as caught:
        pods.list(ListOptions())
    assert caught.value.code == 429
    assert len(server.requests) == 2


@pytest.mark.parametrize("call", ["list", "watch"])
@pytest.mark.parametrize("retries", [None, 0, False])
def test_nobody_listens(call: str, retries: object) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        # Bound, but not listening: nobody else gets the port, and connections are refused.
        configuration = client.Configuration()
        configuration.host = f"http://127.0.0.1:{probe.getsockname()[1]}"
        configuration.retries = retries
        api = client.CoreV1Api(client.ApiClient(configuration))
        with pytest.raises(ConnectionRefusedApiError):
            getattr(list_watch_from_client(api.list_namespaced_pod, namespace="a"), call)(_WATCH)


def test_a_list_that_is_cut_is_an_error(server: _Server) -> None:
    def answer(handler: _Handler) -> None:
        handler.close_connection = True
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"items": [')

    server.answers.append(answer)
    with pytest.raises(ApiError) as caught:
        _pods(server).list(ListOptions())
    assert caught.value.code == 0


def test_other_errors_pass_through(server: _Server) -> None:
    pods = list_watch_from_client(server.api().list_namespaced_pod, no_such_argument=True)
    with pytest.raises((TypeError, ValueError)):
        pods.list(ListOptions())
    assert server.requests == []


def test_a_function_that_is_no_method_of_an_api_is_refused() -> None:
    with pytest.raises(TypeError, match="is no method of an API object"):
        list_watch_from_client(lambda: None)


def test_without_the_client_there_is_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes.client", None)
    with pytest.raises(ImportError, match=r"kcache\[kubernetes\]"):
        list_watch_from_client(lambda: None)


def test_clients_before_37_say_the_type_in_the_docstring_and_want_a_response() -> None:
    deserialized: list[tuple[str, str]] = []

    class OldApiClient:
        def deserialize(self, response: Any, response_type: str) -> Any:
            deserialized.append((json.loads(response.data)["metadata"]["name"], response_type))
            return response_type

    class OldApi:
        api_client = OldApiClient()

        def list_namespaced_pod(self, namespace: str, **kwargs: Any) -> Any:
            """list_namespaced_pod

            :param str namespace: object name
            :return: V1PodList
                     If the method is called asynchronously,
            """
            body = iter([_line(ADDED, _pod("x")), b""])
            return types.SimpleNamespace(
                read1=lambda amount, decode_content: next(body), close=lambda: None, release_conn=lambda: None
            )

    watch = list_watch_from_client(OldApi().list_namespaced_pod, namespace="a").watch(_WATCH)
    assert list(watch) == [WatchEvent(ADDED, "V1Pod")]
    assert deserialized == [("x", "V1Pod")]


# All together


def test_a_reflector_follows_the_server_and_stops_at_once(server: _Server) -> None:
    server.json(_pod_list(_pod("x", "9")))
    server.stream(_line(ADDED, _pod("y", "11")), end="cut")
    bookmark = {"kind": "Pod", "metadata": {"resourceVersion": "20"}}
    server.stream(_line("DELETED", _pod("x", "12")), _line(BOOKMARK, bookmark), end="silent")
    store = kcache.new_store(kcache.meta_namespace_key_func)
    stop = StopSignal()
    reflector = Reflector(_pods(server), store, expected_type=client.V1Pod)
    thread = threading.Thread(target=reflector.run, args=(stop,), daemon=True)
    thread.start()
    _wait_until(lambda: reflector.last_sync_resource_version() == "20")
    stop.set()
    thread.join(_LIMIT_SECONDS)
    assert not thread.is_alive()
    assert store.list_keys() == ["a/y"]
    assert [query.get("resourceVersion") for _, query in server.requests] == ["0", "10", "11"]
