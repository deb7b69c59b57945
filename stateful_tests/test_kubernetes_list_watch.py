"""Lists and watches with the official client, against a small HTTP server on this machine."""

from __future__ import annotations

import json
import socket
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any

import pytest

import kcache
from kcache.informers.api_errors import ApiError, ConnectionRefusedApiError
from kcache.informers.kubernetes_client import list_watch_from_client
from kcache.informers.list_watch import ADDED, BOOKMARK, ListOptions, WatchEvent
from kcache.informers.reflector import Reflector
from kcache.informers.stopping import StopSignal
from stateful_tests.material.informer_support import eventually
from stateful_tests.material.kubernetes_support import (
    LIMIT_SECONDS,
    WATCH,
    AnsweringHandler,
    ScriptedHttpServer,
    event_line,
    new_pod,
    new_pod_list,
    new_status,
    pods_of,
    serving,
)

client = pytest.importorskip("kubernetes.client")


@pytest.fixture
def server() -> Iterator[ScriptedHttpServer]:
    with serving() as server:
        yield server


# Lists


def test_a_list_gives_models(server: ScriptedHttpServer) -> None:
    server.json(new_pod_list(new_pod("x", "3", app="é"), new_pod("y", "4")))
    page = pods_of(server).list(ListOptions(resource_version="0", limit=500))
    assert [type(pod) for pod in page.items] == [client.V1Pod] * 2
    assert [kcache.meta_namespace_key_func(pod) for pod in page.items] == ["a/x", "a/y"]
    assert page.items[0].metadata.labels == {"app": "é"}
    assert (page.resource_version, page.continue_token) == ("10", "")
    assert server.requests == [("/api/v1/namespaces/a/pods", {"resourceVersion": "0", "limit": "500"})]


def test_a_list_gives_and_takes_continue_tokens(server: ScriptedHttpServer) -> None:
    server.json(new_pod_list(new_pod("x"), token="more"))
    server.json(new_pod_list(new_pod("y")))
    pods = pods_of(server)
    assert pods.list(ListOptions(limit=1)).continue_token == "more"
    pods.list(ListOptions(limit=1, continue_token="more"))
    assert server.requests[1][1] == {"limit": "1", "continue": "more"}


def test_nothing_is_said_that_was_not_asked_for(server: ScriptedHttpServer) -> None:
    server.json(new_pod_list())
    pods_of(server).list(ListOptions())
    assert server.requests[0][1] == {}


def test_selectors_are_sent_and_must_all_hold(server: ScriptedHttpServer) -> None:
    server.json(new_pod_list())
    server.json(new_pod_list())
    pods = pods_of(server, label_selector="app=x", field_selector="spec.nodeName=n")
    pods.list(ListOptions())
    pods.list(ListOptions(label_selector="tier=web", field_selector="status.phase=Running"))
    assert [query for _, query in server.requests] == [
        {"labelSelector": "app=x", "fieldSelector": "spec.nodeName=n"},
        {"labelSelector": "app=x,tier=web", "fieldSelector": "spec.nodeName=n,status.phase=Running"},
    ]


def test_custom_objects_are_manifests(server: ScriptedHttpServer) -> None:
    server.json({"metadata": {"resourceVersion": "7", "continue": "t"}, "items": [new_pod("x")]})
    server.stream(event_line(ADDED, new_pod("y", "8")))
    widgets = list_watch_from_client(
        server.api("CustomObjectsApi").list_namespaced_custom_object,
        namespace="a",
        group="example.com",
        version="v1",
        plural="widgets",
    )
    page = widgets.list(ListOptions())
    assert (list(page.items), page.resource_version, page.continue_token) == ([new_pod("x")], "7", "t")
    assert list(widgets.watch(WATCH)) == [WatchEvent(ADDED, new_pod("y", "8"))]
    assert server.requests[0][0] == "/apis/example.com/v1/namespaces/a/widgets"


def test_methods_without_a_namespace(server: ScriptedHttpServer) -> None:
    server.json(new_pod_list())
    list_watch_from_client(server.api().list_pod_for_all_namespaces).list(ListOptions())
    assert server.requests[0][0] == "/api/v1/pods"


# Errors


@pytest.mark.parametrize("call", ["list", "watch"])
def test_a_refusal_tells_its_code_reason_message_and_causes(server: ScriptedHttpServer, call: str) -> None:
    server.json(new_status(504, "Timeout", "Too large resource version: 9", "ResourceVersionTooLarge"), 504)
    with pytest.raises(ApiError) as caught:
        getattr(pods_of(server), call)(WATCH)
    error = caught.value
    assert (error.code, error.reason) == (504, "Timeout")
    assert (error.message, error.causes) == ("Too large resource version: 9", ("ResourceVersionTooLarge",))
    assert isinstance(error.__cause__, client.ApiException)


@pytest.mark.parametrize("call", ["list", "watch"])
@pytest.mark.parametrize("body", [b"bad gateway", b"", b'["Status"]', b"\xff"])
def test_a_refusal_of_something_else_than_an_api_server(server: ScriptedHttpServer, call: str, body: bytes) -> None:
    server.json(body, 502)
    with pytest.raises(ApiError) as caught:
        getattr(pods_of(server), call)(WATCH)
    assert (caught.value.code, caught.value.reason, caught.value.causes) == (502, "", ())


@pytest.mark.parametrize("call", ["list", "watch"])
def test_a_busy_server(server: ScriptedHttpServer, call: str) -> None:
    server.json(new_status(429, "TooManyRequests", "later"), 429, Retry_After="7")
    with pytest.raises(ApiError, match="later") as caught:
        getattr(pods_of(server), call)(WATCH)
    assert caught.value.code == 429


def test_a_server_that_is_busy_whenever_the_client_repeats_its_request(server: ScriptedHttpServer) -> None:
    for _ in range(2):
        server.json(new_status(429, "TooManyRequests", "later"), 429, Retry_After="0")
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
            getattr(list_watch_from_client(api.list_namespaced_pod, namespace="a"), call)(WATCH)


def test_a_list_that_is_cut_is_an_error(server: ScriptedHttpServer) -> None:
    def answer(handler: AnsweringHandler) -> None:
        handler.close_connection = True
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"items": [')

    server.answers.append(answer)
    with pytest.raises(ApiError) as caught:
        pods_of(server).list(ListOptions())
    assert caught.value.code == 0


def test_other_errors_pass_through(server: ScriptedHttpServer) -> None:
    pods = list_watch_from_client(server.api().list_namespaced_pod, no_such_argument=True)
    with pytest.raises((TypeError, ValueError)):
        pods.list(ListOptions())
    assert server.requests == []


def test_a_function_that_is_no_method_of_an_api_is_refused() -> None:
    with pytest.raises(TypeError, match="is not a method of an API object"):
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
            body = iter([event_line(ADDED, new_pod("x")), b""])
            return types.SimpleNamespace(
                read1=lambda amount, decode_content: next(body), close=lambda: None, release_conn=lambda: None
            )

    watch = list_watch_from_client(OldApi().list_namespaced_pod, namespace="a").watch(WATCH)
    assert list(watch) == [WatchEvent(ADDED, "V1Pod")]
    assert deserialized == [("x", "V1Pod")]


# All together


def test_a_reflector_follows_the_server_and_stops_at_once(server: ScriptedHttpServer) -> None:
    server.json(new_pod_list(new_pod("x", "9")))
    server.stream(event_line(ADDED, new_pod("y", "11")), end="cut")
    bookmark = {"kind": "Pod", "metadata": {"resourceVersion": "20"}}
    server.stream(event_line("DELETED", new_pod("x", "12")), event_line(BOOKMARK, bookmark), end="silent")
    store = kcache.new_store(kcache.meta_namespace_key_func)
    stop = StopSignal()
    reflector = Reflector(pods_of(server), store, expected_type=client.V1Pod)
    thread = threading.Thread(target=reflector.run, args=(stop,), daemon=True)
    thread.start()
    assert eventually(lambda: reflector.last_sync_resource_version() == "20")
    stop.set()
    thread.join(LIMIT_SECONDS)
    assert not thread.is_alive()
    assert store.list_keys() == ["a/y"]
    assert [query.get("resourceVersion") for _, query in server.requests] == ["0", "10", "11"]
