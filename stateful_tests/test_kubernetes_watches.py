"""Watches with the official client, against a small HTTP server on this machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kcache.informers.api_errors import ApiError
from kcache.informers.kubernetes_watch import KubernetesWatch
from kcache.informers.list_watch import ADDED, BOOKMARK, ERROR, MODIFIED, ListOptions, WatchEvent
from stateful_tests.material.informer_support import eventually
from stateful_tests.material.kubernetes_support import (
    LIMIT_SECONDS,
    WATCH,
    AnsweringHandler,
    ScriptedHttpServer,
    event_line,
    new_pod,
    new_status,
    pods_of,
    serving,
)

client = pytest.importorskip("kubernetes.client")


@pytest.fixture
def server() -> Iterator[ScriptedHttpServer]:
    with serving() as server:
        yield server


# Watches


def test_a_watch_says_where_it_begins_and_how_long_it_lasts(server: ScriptedHttpServer) -> None:
    server.stream(event_line(ADDED, new_pod("x")))
    list(pods_of(server, label_selector="app=x").watch(WATCH))
    path, query = server.requests[0]
    assert path == "/api/v1/namespaces/a/pods"
    assert {name: value.lower() for name, value in query.items()} == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "10",
        "timeoutSeconds": "300",
        "labelSelector": "app=x",
    }


def test_a_watch_without_a_time_limit(server: ScriptedHttpServer) -> None:
    server.stream(event_line(ADDED, new_pod("x")))
    assert len(list(pods_of(server).watch(ListOptions()))) == 1


def test_events_carry_models_but_for_bookmarks_and_errors(server: ScriptedHttpServer) -> None:
    bookmark = {"apiVersion": "v1", "kind": "Pod", "metadata": {"resourceVersion": "12"}}
    gone = new_status(410, "Expired", "too old")
    server.stream(event_line(ADDED, new_pod("x", "11")), event_line(BOOKMARK, bookmark), b"\n", event_line(ERROR, gone))
    added, *others = pods_of(server).watch(WATCH)
    assert added.type == ADDED
    assert isinstance(added.object, client.V1Pod)
    assert added.object.metadata.resource_version == "11"
    assert others == [WatchEvent(BOOKMARK, bookmark), WatchEvent(ERROR, gone)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_lines_and_characters_may_be_split_over_chunks(server: ScriptedHttpServer, size: int) -> None:
    text = event_line(ADDED, new_pod("x", "11", app="é€😀")) + event_line(MODIFIED, new_pod("x", "12", app="ü"))
    server.stream(*[text[start : start + size] for start in range(0, len(text), size)])
    events = list(pods_of(server).watch(WATCH))
    assert [event.object.metadata.labels["app"] for event in events] == ["é€😀", "ü"]


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_blank_lines_are_no_events(server: ScriptedHttpServer, size: int) -> None:
    events = [event_line(ADDED, new_pod(name)) for name in ("x", "y")]
    text = b"\n".join([b"", b" \t\r", events[0].replace(b"\n", b"\r\n"), events[1] + b"\r\n", b" "])
    server.stream(*[text[start : start + size] for start in range(0, len(text), size)])
    assert [event.object.metadata.name for event in pods_of(server).watch(WATCH)] == ["x", "y"]


def test_an_event_arrives_before_the_next_one_is_sent(server: ScriptedHttpServer) -> None:
    server.stream(event_line(ADDED, new_pod("x")), end="silent")
    watch = pods_of(server).watch(WATCH)
    assert next(iter(watch)).object.metadata.name == "x"
    watch.stop()


def test_an_answer_that_is_not_chunked_arrives_at_once_too(server: ScriptedHttpServer) -> None:
    def answer(handler: AnsweringHandler) -> None:
        handler.close_connection = True
        handler.send_response(200)
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(event_line(ADDED, new_pod("x")))
        handler.wfile.flush()
        server.is_over.wait(LIMIT_SECONDS)

    server.answers.append(answer)
    watch = pods_of(server).watch(WATCH)
    assert next(iter(watch)).object.metadata.name == "x"
    watch.stop()


@pytest.mark.parametrize("rest", [b"", b'{"type": "ADDED", "obj'])
def test_a_connection_that_is_cut_ends_the_watch_after_the_last_whole_event(
    server: ScriptedHttpServer, rest: bytes
) -> None:
    server.stream(*filter(None, [event_line(ADDED, new_pod("x")), rest]), end="cut")
    assert [event.object.metadata.name for event in pods_of(server).watch(WATCH)] == ["x"]


def test_a_last_line_may_lack_its_end(server: ScriptedHttpServer) -> None:
    server.stream(event_line(ADDED, new_pod("x")), event_line(ADDED, new_pod("y")).rstrip())
    assert [event.object.metadata.name for event in pods_of(server).watch(WATCH)] == ["x", "y"]


def test_a_server_that_has_gone_silent_ends_the_watch(server: ScriptedHttpServer) -> None:
    server.stream(event_line(ADDED, new_pod("x")), end="silent")
    watch = pods_of(server, _request_timeout=(5, 0.05)).watch(WATCH)
    assert [event.object.metadata.name for event in watch] == ["x"]


@pytest.mark.parametrize("line", [b"{nonsense\n", b"5\n", b'{"type": "ADDED"}\n', b"\xff\xfe\n"])
def test_what_is_no_event_is_an_internal_error(server: ScriptedHttpServer, line: bytes) -> None:
    server.stream(event_line(ADDED, new_pod("x")), line, event_line(ADDED, new_pod("y")))
    with pytest.raises(ApiError, match="unable to decode an event") as caught:
        list(pods_of(server).watch(WATCH))
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
def test_stop_ends_a_read_that_waits(server: ScriptedHttpServer, wrap: Callable[[Any], Any], count: int) -> None:
    server.stream(*[event_line(ADDED, new_pod("x"))] * count, end="silent")
    watch = pods_of(server).watch(WATCH)
    watch._response = wrap(watch._response)
    events: list[WatchEvent] = []

    def read() -> None:
        for event in watch:
            events.append(event)  # noqa: PERF402  # one by one, for the other thread to see

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    assert server.is_silent.wait(LIMIT_SECONDS)
    assert eventually(lambda: len(events) == count and watch._reading.locked())
    watch.stop()
    thread.join(LIMIT_SECONDS)
    assert not thread.is_alive()
    assert len(events) == count
    assert watch._response.closed
    watch.stop()


def test_stop_before_the_iteration(server: ScriptedHttpServer) -> None:
    server.stream(event_line(ADDED, new_pod("x")), end="silent")
    watch = pods_of(server).watch(WATCH)
    watch.stop()
    watch.stop()
    assert list(watch) == []
    assert watch._response.closed


def test_stop_between_two_events(server: ScriptedHttpServer) -> None:
    server.stream(event_line(ADDED, new_pod("x")) + event_line(ADDED, new_pod("y")), end="silent")
    watch = pods_of(server).watch(WATCH)
    seen = []
    for event in watch:
        seen.append(event.object.metadata.name)
        watch.stop()
    assert seen == ["x"]


def test_stop_after_the_end(server: ScriptedHttpServer) -> None:
    server.stream(event_line(ADDED, new_pod("x")))
    watch = pods_of(server).watch(WATCH)
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
