"""The API server over HTTP serves the official client, and breaks its connections as it is told."""

import contextlib
import http.client
import json
import socket
import threading
import time

import pytest

from kcache.informers.api_errors import ApiError, ConnectionRefusedApiError
from kcache.informers.list_watch import WatchEvent
from kcache_conformance.informers.fake_server import FakeServer
from stateful_tests.material.api_server import Cut, HttpApiServer
from stateful_tests.material.api_server.cuts import CutPlan
from stateful_tests.material.informer_support.threads import threads_since

SECONDS = 10.0
FIN, RST = Cut(), Cut(reset=True)
HALF_FIN, HALF_RST = Cut(within_line=True), Cut(within_line=True, reset=True)


@pytest.fixture
def server():
    before = threading.enumerate()
    with HttpApiServer() as made:
        yield made
    assert threads_since(before) == []


class Connection:
    """A client that shows what is on the wire."""

    def __init__(self, server):
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
        self.response = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.response is not None:
            self.response.close()
        self._connection.close()

    def get(self, path):
        self._connection.request("GET", path)
        self.response = self._connection.getresponse()
        return self.response

    def get_json(self, path):
        response = self.get(path)
        return response.status, json.loads(response.read())

    def watch(self, path="/api/v1/pods?watch=true&resourceVersion=1"):
        """Begin to watch; the answer may still be on its way."""
        assert self.get(path).status == 200
        return self

    def line(self):
        """The next event."""
        return json.loads(self.response.readline())

    def rest(self):
        """All that still comes, or the type of the error that comes instead."""
        try:
            return self.response.read()
        except (http.client.HTTPException, OSError) as error:
            return type(error)


@pytest.fixture
def connection(server):
    with Connection(server) as made:
        yield made


# What is on the wire.


def test_a_list(server, connection):
    server.pods.create("a", value=1)
    status, found = connection.get_json("/api/v1/pods")
    assert status == 200
    assert found == {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "2"},
        "items": [
            {
                "metadata": {"name": "a", "namespace": "default", "uid": "uid-1", "resourceVersion": "2"},
                "spec": {"containers": [], "value": 1},
            }
        ],
    }


def test_pages_on_one_connection(server, connection):
    for name in "abc":
        server.configmaps.create(name)
    _, first = connection.get_json("/api/v1/configmaps?limit=2")
    _, second = connection.get_json(f"/api/v1/configmaps?limit=2&continue={first['metadata']['continue']}")
    assert [item["metadata"]["name"] for item in first["items"] + second["items"]] == ["a", "b", "c"]
    assert "continue" not in second["metadata"]


def test_namespaces_and_selectors(server, connection):
    for namespace in ("one", "two"):
        server.pods.create("a", namespace, labels={"app": "web"})
        server.pods.create("b", namespace)
    path = "/api/v1/namespaces/two/pods?labelSelector=app%3Dweb&fieldSelector=metadata.name%3Da"
    _, found = connection.get_json(path)
    assert [item["metadata"]["namespace"] for item in found["items"]] == ["two"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/api/v1/nothing", 404),
        ("/elsewhere", 404),
        ("/api/v1/pods?limit=many", 400),
        ("/api/v1/pods?resourceVersion=x", 400),
        ("/api/v1/pods?resourceVersion=99", 504),
        ("/api/v1/pods?continue=1:a", 410),
        ("/api/v1/pods?watch=1&resourceVersion=1", 410),
    ],
)
def test_errors_are_statuses(server, connection, path, code):
    server.pods.create("a")
    server.pods.compact()
    server.pods.expires_in_stream = False
    status, found = connection.get_json(path)
    assert status == found["code"] == code
    assert (found["kind"], found["status"]) == ("Status", "Failure")
    assert connection.get_json("/api/v1/pods")[0] == 200, "the connection can be used again"


def test_a_cause_of_an_error(connection):
    _, found = connection.get_json("/api/v1/pods?resourceVersion=99")
    assert found["details"]["causes"] == [{"reason": "ResourceVersionTooLarge"}]


def test_a_watch_from_the_forgotten_past(server, connection):
    server.pods.create("a")
    server.pods.compact()
    event = connection.watch().line()
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert connection.rest() == b""


def test_a_watch_sends_events_as_they_come_and_ends(server, connection):
    connection.watch("/api/v1/pods?watch=true&resourceVersion=1&allowWatchBookmarks=true")
    created = server.pods.create("é", value=1)
    assert connection.line() == {"type": "ADDED", "object": created}
    server.pods.send_bookmark()
    assert connection.line()["type"] == "BOOKMARK"
    server.pods.cut_watches()
    assert connection.rest() == b""


def test_lines_can_be_split_over_chunks_within_a_character():
    with HttpApiServer(chunk_bytes=1) as server, Connection(server) as connection:
        connection.watch()
        created = server.pods.create("é", value="日本")
        assert connection.line()["object"] == created
        server.pods.cut_watches()
        assert connection.rest() == b""


def test_a_watch_ends_when_its_time_is_up(server, connection):
    connection.watch("/api/v1/pods?watch=true&resourceVersion=1&timeoutSeconds=1")
    assert connection.rest() == b""
    assert server.pods.wait_for_watchers(0, SECONDS)


def test_a_client_that_leaves_is_noticed(server):
    with Connection(server) as connection:
        connection.watch()
        assert server.pods.wait_for_watchers(1, SECONDS)
    assert server.pods.wait_for_watchers(0, SECONDS)


def test_too_many_connections_are_closed_at_once():
    with HttpApiServer(max_connections=2) as server, contextlib.ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(Connection(server)).watch()
        third = stack.enter_context(Connection(server))
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            third.get("/api/v1/pods")


def test_closing_ends_everything():
    with HttpApiServer() as server, Connection(server) as idle, Connection(server) as watching:
        idle.get_json("/api/v1/pods")
        watching.watch()
        assert server.pods.wait_for_watchers(1, SECONDS)
        server.close()
        server.close()
        assert server.pods.wait_for_watchers(0, SECONDS)
        with Connection(server) as late, pytest.raises(ConnectionRefusedError):
            late.get("/api/v1/pods")


def test_another_server_goes_on_with_the_same_truth_on_the_same_port():
    pods = FakeServer("Pod")
    with HttpApiServer({"pods": pods}) as first, Connection(first) as connection:
        connection.watch()
        port = first.port
    pods.create("a")
    with HttpApiServer({"pods": pods}, port=port) as second, Connection(second) as connection:
        assert connection.watch().line()["object"]["metadata"]["name"] == "a"


def test_an_error_inside_comes_out():
    server = HttpApiServer()
    server.pods.refuse_lists(1, ZeroDivisionError("oh"))
    with Connection(server) as connection, pytest.raises(http.client.RemoteDisconnected):
        connection.get("/api/v1/pods")
    with pytest.raises(ZeroDivisionError, match="oh"):
        server.close()


# Broken connections.


@pytest.mark.parametrize(
    ("cut", "seen"),
    [
        (FIN, {http.client.IncompleteRead}),
        (HALF_FIN, {http.client.IncompleteRead}),
        (RST, {ConnectionResetError}),
        (HALF_RST, {ConnectionResetError, http.client.IncompleteRead}),
    ],
)
def test_watches_are_cut_at_once(server, connection, cut, seen):
    connection.watch()
    server.pods.create("a")
    assert connection.line()["type"] == "ADDED"
    server.cut_watches(cut)
    assert connection.rest() in seen
    assert server.pods.wait_for_watchers(0, SECONDS)


@pytest.mark.parametrize("cut", [FIN, RST, HALF_FIN, HALF_RST])
def test_the_next_event_is_cut(server, connection, cut):
    connection.watch()
    server.pods.create("a")
    assert connection.line()["type"] == "ADDED"
    server.cut_next_event(cut)
    server.pods.create("b")
    assert connection.rest() in (http.client.IncompleteRead, ConnectionResetError)
    with Connection(server) as again:
        assert again.watch().line()["object"]["metadata"]["name"] == "a"
        assert again.line()["object"]["metadata"]["name"] == "b"


def test_half_a_line_is_really_sent(server, connection):
    connection.watch()
    server.cut_next_event(HALF_FIN)
    server.pods.create("a")
    size, _, line = connection.response.fp.read().partition(b"\r\n")
    assert line.startswith(b'{"type": "ADDED", "object": {')
    assert len(line) == int(size, 16) // 2


@pytest.mark.parametrize("cut", [FIN, RST, HALF_FIN, HALF_RST])
def test_a_list_is_cut(server, connection, cut):
    server.pods.create("a")
    server.cut_next_list(cut)
    connection.get("/api/v1/pods")
    assert connection.rest() in (http.client.IncompleteRead, ConnectionResetError)
    with Connection(server) as again:
        assert len(again.get_json("/api/v1/pods")[1]["items"]) == 1


def test_a_connection_that_the_truth_breaks(server, connection):
    connection.watch()
    assert server.pods.wait_for_watchers(1, SECONDS)
    server.pods.cut_watches(EOFError())
    assert connection.rest() is ConnectionResetError


def test_a_truth_that_refuses_connections(server, connection):
    server.pods.refuse_lists(1, ConnectionRefusedApiError())
    with pytest.raises(ConnectionResetError):
        connection.get("/api/v1/pods")


def test_random_cuts_are_the_same_for_the_same_seed():
    def cuts(seed):
        plan = CutPlan()
        plan.cut_at_random(0.1, seed)
        watches = [plan.open_watch() for _ in range(3)]
        return [[watch.before_event() for _ in range(200)] for watch in watches]

    assert cuts(1) == cuts(1) != cuts(2)
    first, second, _ = cuts(1)
    assert first != second
    assert set(first) == {None, FIN, RST, HALF_FIN, HALF_RST}


def events_until_cut(server):
    with Connection(server) as connection:
        connection.watch()
        count = 0
        with contextlib.suppress(http.client.HTTPException, OSError, json.JSONDecodeError):
            while connection.line():
                count += 1
        return count


def test_random_cuts_end(server):
    for number in range(200):
        server.pods.create(f"p{number}")
    server.cut_at_random(0.1, seed=1)
    counts = [events_until_cut(server) for _ in range(10)]
    assert 0 < max(counts) < 200
    server.cut_at_random(0.0)
    with Connection(server) as connection:
        connection.watch()
        assert [connection.line()["type"] for _ in range(200)] == ["ADDED"] * 200


# The official client.


@pytest.fixture
def kubernetes():
    client = pytest.importorskip("kubernetes.client")
    pytest.importorskip("kubernetes.watch")
    return client


@pytest.fixture
def api(kubernetes, server):
    configuration = kubernetes.Configuration(host=server.url)
    configuration.retries = False
    with kubernetes.ApiClient(configuration) as client:
        yield kubernetes.CoreV1Api(client)
        client.rest_client.pool_manager.clear()


def test_the_client_lists(server, api):
    server.pods.create("a", labels={"app": "web"})
    server.pods.create("b", namespace="other")
    server.configmaps.create("c")
    found = api.list_pod_for_all_namespaces(resource_version="0")
    assert [pod.metadata.name for pod in found.items] == ["a", "b"]
    assert found.metadata.resource_version == server.pods.resource_version
    assert [pod.metadata.name for pod in api.list_namespaced_pod("other").items] == ["b"]
    assert [pod.metadata.name for pod in api.list_pod_for_all_namespaces(label_selector="app=web").items] == ["a"]
    assert [each.metadata.name for each in api.list_namespaced_config_map("default").items] == ["c"]


def test_the_client_lists_in_pages(server, api):
    for number in range(5):
        server.pods.create(f"p{number}")
    page = api.list_pod_for_all_namespaces(limit=2)
    found = list(page.items)
    while page.metadata._continue:
        page = api.list_pod_for_all_namespaces(limit=2, _continue=page.metadata._continue)
        found += page.items
    assert [pod.metadata.name for pod in found] == [f"p{number}" for number in range(5)]
    assert len(server.pods.requests) == 3


def test_the_client_is_refused(server, api, kubernetes):
    server.pods.refuse_lists(1, ApiError(429, "TooManyRequests", "slow down"))
    with pytest.raises(kubernetes.ApiException) as raised:
        api.list_pod_for_all_namespaces()
    assert raised.value.status == 429
    assert json.loads(raised.value.body)["message"] == "slow down"


def test_the_client_watches(server, api):
    from kubernetes.watch import Watch

    server.pods.create("a")
    watch = Watch()
    found = []
    for event in watch.stream(api.list_pod_for_all_namespaces, resource_version="1", allow_watch_bookmarks=True):
        found.append((event["type"], event["raw_object"]["metadata"].get("name")))
        if len(found) == 1:
            server.pods.update("a", labels={"app": "web"})
        elif len(found) == 2:
            server.pods.delete("a")
            server.pods.send_bookmark()
        elif len(found) == 4:
            watch.stop()
    assert found == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a"), ("BOOKMARK", None)]
    assert server.pods.wait_for_watchers(0, SECONDS)


def test_the_client_is_told_that_a_watch_is_too_old(server, api, kubernetes):
    from kubernetes.watch import Watch

    server.pods.create("a")
    server.pods.compact()
    for in_stream in (True, False):
        server.pods.expires_in_stream = in_stream
        with pytest.raises(kubernetes.ApiException) as raised:
            list(Watch().stream(api.list_pod_for_all_namespaces, resource_version="1", timeout_seconds=5))
        assert raised.value.status == 410


def test_the_client_watches_until_its_time_is_up(server, api):
    from kubernetes.watch import Watch

    server.pods.create("a")
    begin = time.monotonic()
    events = list(Watch().stream(api.list_namespaced_pod, "default", timeout_seconds=1))
    assert [event["type"] for event in events] == ["ADDED"]
    assert time.monotonic() - begin < 60


@pytest.mark.parametrize("cut", [FIN, RST, HALF_FIN, HALF_RST])
def test_the_client_is_cut_off(server, api, cut):
    from kubernetes.watch import Watch
    from urllib3.exceptions import ProtocolError

    server.pods.create("a")
    server.pods.create("b")
    events = Watch().stream(api.list_pod_for_all_namespaces, resource_version="1")
    assert [next(events)["object"].metadata.name for _ in range(2)] == ["a", "b"]
    server.cut_watches(cut)
    with pytest.raises((ProtocolError, ConnectionResetError)):
        next(events)


def test_an_event_can_be_anything(server, connection):
    connection.watch()
    assert server.pods.wait_for_watchers(1, SECONDS)
    server.pods.inject(WatchEvent("STRANGE", {"metadata": None}))
    assert connection.line() == {"type": "STRANGE", "object": {"metadata": None}}


def test_garbage_instead_of_a_request(server):
    with socket.create_connection(("127.0.0.1", server.port), SECONDS) as client:
        client.sendall(b"\x00\x01\r\n\r\n")
        assert client.recv(1000)
