"""The watches of the fake API server, and how they go wrong."""

import pytest

from kcache.informers.api_errors import (
    ApiError,
    ConnectionRefusedApiError,
    error_from_status,
    is_expired,
    is_too_large_resource_version,
)
from kcache.informers.list_watch import (
    ADDED,
    BOOKMARK,
    DELETED,
    ERROR,
    MODIFIED,
    ListOptions,
    Watch,
    WatchEvent,
)
from kcache_conformance.informers.fake_server import FakeServer
from stateful_tests.material.fake_server_support import SECONDS, Reader, brief, names, read, read_all, watch_from


@pytest.fixture
def server():
    with_server = FakeServer()
    yield with_server
    with_server.close()


# Watches.


def test_a_watch_shows_what_follows_a_resource_version(server):
    server.create("a")
    server.create("b")
    watch = watch_from(server, "2")
    server.update("a")
    server.delete("b")
    assert isinstance(watch, Watch)
    assert read(watch, 3) == ["ADDED b@3", "MODIFIED a@4", "DELETED b@5"]


@pytest.mark.parametrize("resource_version", ["", "0"])
def test_a_watch_without_a_resource_version_begins_with_what_there_is(server, resource_version):
    server.create("b")
    server.create("a")
    server.update("b")
    watch = watch_from(server, resource_version)
    server.update("a")
    assert read(watch, 3) == ["ADDED a@3", "ADDED b@4", "MODIFIED a@5"]


def test_a_watch_from_the_future_waits_for_it(server):
    watch = watch_from(server, "3")
    server.create("a")
    server.create("b")
    server.create("c")
    assert read(watch, 1) == ["ADDED c@4"]


def test_every_watcher_sees_every_event_in_order(server):
    readers = [Reader(watch_from(server, "1")) for _ in range(4)]
    assert server.wait_until_caught_up(4, SECONDS)
    for number in range(200):
        server.create(f"p{number}")
    assert server.wait_until_caught_up(4, SECONDS)
    server.close()
    assert all(reader.has_ended() for reader in readers)
    assert all(reader.events == list(server.history()) for reader in readers)


def test_a_watch_is_stopped_from_another_thread_twice(server):
    watch = watch_from(server, "1")
    reader = Reader(watch)
    assert server.wait_until_caught_up(1, SECONDS)
    watch.stop()
    watch.stop()
    assert reader.has_ended()
    assert server.wait_for_watchers(0, SECONDS)


def test_a_watch_is_stopped_before_it_is_read(server):
    server.create("a")
    watch = watch_from(server, "1")
    watch.stop()
    assert read_all(watch) == []


def test_bookmarks_go_to_those_who_asked(server):
    asked = watch_from(server, "1", allow_watch_bookmarks=True)
    others = watch_from(server, "1")
    server.create("a")
    server.advance(40)
    server.send_bookmark()
    late = watch_from(server, "2", allow_watch_bookmarks=True)
    server.cut_watches()
    events = list(asked)
    assert [event.type for event in events] == [ADDED, BOOKMARK]
    assert events[1].object == {"apiVersion": "v1", "kind": "Pod", "metadata": {"resourceVersion": "42"}}
    assert read_all(others) == ["ADDED a@2"]
    assert read_all(late) == []


def test_a_timeout_is_none_of_the_servers_business(server):
    reader = Reader(watch_from(server, "1", timeout_seconds=0))
    assert server.wait_until_caught_up(1, SECONDS)
    server.cut_watches()
    assert reader.has_ended()


# Faults.


def test_a_watch_from_the_forgotten_past_says_so_in_the_stream(server):
    server.create("a")
    server.compact()
    (event,) = watch_from(server, "1")
    assert event.type == ERROR
    assert event.object["kind"] == "Status"
    error = error_from_status(event.object)
    assert (error.code, error.reason) == (410, "Expired")
    stopped = watch_from(server, "1")
    stopped.stop()
    assert list(stopped) == []


def test_a_watch_from_the_forgotten_past_is_refused(server):
    server.create("a")
    server.compact()
    server.expires_in_stream = False
    with pytest.raises(ApiError) as raised:
        watch_from(server, "1")
    assert is_expired(raised.value)


def test_forgetting_spares_the_present_and_open_watches(server):
    server.create("a")
    slow = watch_from(server, "1")
    server.create("b")
    server.compact()
    fresh = watch_from(server, "3")
    server.create("c")
    assert read(slow, 3) == ["ADDED a@2", "ADDED b@3", "ADDED c@4"]
    assert read(fresh, 1) == ["ADDED c@4"]
    assert read(watch_from(server, "0"), 3) == ["ADDED a@2", "ADDED b@3", "ADDED c@4"]


def test_a_cut_comes_after_what_was_sent(server):
    watch = watch_from(server, "1")
    server.create("a")
    server.cut_watches()
    server.create("b")
    assert read_all(watch) == ["ADDED a@2"]
    assert read(watch_from(server, "2"), 1) == ["ADDED b@3"]


def test_a_cut_at_once_loses_what_is_under_way(server):
    watch = watch_from(server, "1")
    server.create("a")
    server.cut_watches(at_once=True)
    assert read_all(watch) == []


def test_a_connection_that_breaks(server):
    reader = Reader(watch_from(server, "1"))
    error = ConnectionResetError("gone")
    server.create("a")
    server.cut_watches(error)
    assert reader.has_ended()
    assert [brief(event) for event in reader.events] == ["ADDED a@2"]
    assert isinstance(reader.error, ConnectionResetError)
    assert reader.error is not error


def test_watches_end_with_an_error(server):
    watch = watch_from(server, "1")
    server.end_watches_with_error(500, "InternalError", "oh")
    (event,) = watch
    error = error_from_status(event.object)
    assert (event.type, error.code, error.reason, error.message) == (ERROR, 500, "InternalError", "oh")


def test_refusals_are_counted_and_raised_anew(server):
    server.refuse_lists(2, ApiError(429, "TooManyRequests", "slow down"))
    server.refuse_watches(1, ConnectionRefusedApiError())
    errors = []
    for _ in range(2):
        with pytest.raises(ApiError, match="slow down") as raised:
            server.list(ListOptions())
        errors.append(raised.value)
    assert errors[0] is not errors[1]
    assert errors[0].code == 429
    with pytest.raises(ConnectionRefusedApiError):
        watch_from(server, "1")
    assert server.list(ListOptions()).items == []
    watch_from(server, "1").stop()
    assert [request.verb for request in server.requests] == ["LIST", "LIST", "WATCH", "LIST", "WATCH"]


def test_refusing_ends_early(server):
    server.refuse_lists(5, ApiError(500))
    server.refuse_watches(5, ApiError(500))
    server.stop_refusing()
    assert server.list(ListOptions()).items == []
    watch_from(server, "1").stop()


def test_a_replica_that_lags_behind(server):
    server.create("a")
    server.create("b")
    server.delete("a")
    server.serve_stale("2")
    stale = server.list(ListOptions(resource_version="0"))
    assert (names(stale.items), stale.resource_version) == (["a"], "2")
    assert names(server.list(ListOptions()).items) == ["b"]
    assert server.list(ListOptions(resource_version="1")).resource_version == "2"
    with pytest.raises(ApiError) as raised:
        server.list(ListOptions(resource_version="4"))
    assert is_too_large_resource_version(raised.value)
    assert read(watch_from(server, "0"), 3) == ["ADDED a@2", "ADDED b@3", "DELETED a@4"]
    server.serve_stale(None)
    assert names(server.list(ListOptions(resource_version="0")).items) == ["b"]


def test_injected_events_are_for_open_watches_only(server):
    created = server.create("a")
    watch = watch_from(server, "2")
    unknown = {"metadata": {"name": "x", "resourceVersion": "1"}}
    server.inject(WatchEvent(ADDED, created))  # for a known one, once more
    server.inject(WatchEvent(MODIFIED, unknown))
    server.inject(WatchEvent(DELETED, unknown))
    late = watch_from(server, "2")
    server.create("b")
    server.cut_watches()
    assert read_all(watch) == ["ADDED a@2", "MODIFIED x@1", "DELETED x@1", "ADDED b@3"]
    assert read_all(late) == ["ADDED b@3"]
    assert list(server.snapshot()) == ["default/a", "default/b"]


def test_a_duplicate(server):
    watch = watch_from(server, "1")
    server.create("a")
    server.inject(server.history()[-1])
    assert read(watch, 2) == ["ADDED a@2", "ADDED a@2"]


def test_events_are_lost_or_come_in_another_order(server):
    watch = watch_from(server, "1")
    with server.lose_events():
        server.create("a")
        server.create("b")
        server.create("c")
    for event in reversed(server.history()[1:]):
        server.inject(event)
    late = watch_from(server, "1")
    server.create("d")
    assert read(watch, 3) == ["ADDED c@4", "ADDED b@3", "ADDED d@5"]
    assert read(late, 4) == ["ADDED a@2", "ADDED b@3", "ADDED c@4", "ADDED d@5"]


def test_an_object_that_is_created_again_between_two_lists(server):
    server.create("a")
    first = server.list(ListOptions())
    server.delete("a")
    server.create("a")
    second = server.list(ListOptions())
    assert names(first.items) == names(second.items)
    assert first.items[0]["metadata"]["uid"] != second.items[0]["metadata"]["uid"]


def test_a_closed_server_answers_nobody(server):
    reader = Reader(watch_from(server, "1"))
    assert server.wait_until_caught_up(1, SECONDS)
    server.close()
    server.close()
    assert reader.has_ended()
    for call in (server.list, server.watch):
        with pytest.raises(ConnectionRefusedApiError):
            call(ListOptions())
