"""The fake API server answers as the real one, and goes wrong exactly as it is told."""

import threading

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
from kcache_stress.explorer.granularity import Granularity
from kcache_stress.explorer.scenarios import Scenario, explore_scenario

SECONDS = 10.0


@pytest.fixture
def server():
    with_server = FakeServer()
    yield with_server
    with_server.close()


def names(objects):
    return [manifest["metadata"]["name"] for manifest in objects]


def brief(event):
    """``ADDED a@2``: the type, the name and the resource version."""
    metadata = event.object["metadata"]
    return f"{event.type} {metadata.get('name', '')}@{metadata['resourceVersion']}"


def read(watch, count):
    """The next events, of which there must be enough already."""
    stream = iter(watch)
    return [brief(next(stream)) for _ in range(count)]


def read_all(watch):
    """The events of a watch that has been ended."""
    return [brief(event) for event in watch]


def watch_from(server, resource_version, **options):
    return server.watch(ListOptions(resource_version=resource_version, **options))


class Reader:
    """Reads a watch in a thread of its own until it ends."""

    def __init__(self, watch):
        self.events = []
        self.error = None
        self.watch = watch
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        try:
            for event in self.watch:
                self.events.append(event)
        except Exception as error:
            self.error = error

    def has_ended(self):
        self._thread.join(SECONDS)
        return not self._thread.is_alive()


# The truth.


def test_an_object_is_a_manifest_that_never_changes(server):
    created = server.create("a", value=1)
    updated = server.update("a", value=2, extra=3)
    assert created == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "default", "uid": "uid-1", "resourceVersion": "2"},
        "spec": {"value": 1},
    }
    assert updated["spec"] == {"value": 2, "extra": 3}
    assert updated["metadata"]["uid"] == "uid-1"
    assert server.snapshot() == {"default/a": updated}


def test_a_status_changes_by_itself(server):
    created = server.create("a", value=1)
    first, second = server.update_status("a", phase="Pending", ready=False), server.update_status("a", phase="Running")
    assert "status" not in created
    assert first["status"] == {"phase": "Pending", "ready": False}
    assert second["status"] == {"phase": "Running", "ready": False}
    assert second["spec"] == {"value": 1}
    assert second["metadata"] == created["metadata"] | {"resourceVersion": "4"}
    assert [event.type for event in server.history()] == ["ADDED", "MODIFIED", "MODIFIED"]


def test_a_deletion_has_the_last_state_and_a_resource_version_of_its_own(server):
    server.create("a", value=1)
    deleted = server.delete("a")
    assert deleted["spec"] == {"value": 1}
    assert deleted["metadata"]["resourceVersion"] == "3" == server.resource_version
    assert server.snapshot() == {}


def test_a_new_object_begins_with_the_default_spec():
    server = FakeServer(default_spec={"value": 0, "containers": []})
    assert server.create("a", value=1)["spec"] == {"value": 1, "containers": []}
    assert server.update("a", value=2)["spec"] == {"value": 2, "containers": []}


def test_an_object_that_is_created_again_has_another_uid(server):
    first = server.create("a")
    server.delete("a")
    assert server.create("a")["metadata"]["uid"] != first["metadata"]["uid"]


def test_labels_stay_until_others_are_given(server):
    server.create("a", labels={"app": "web"})
    assert server.update("a", value=1)["metadata"]["labels"] == {"app": "web"}
    assert server.update("a", labels={})["metadata"]["labels"] == {}


def test_an_object_without_a_namespace(server):
    assert "namespace" not in server.create("node", namespace="")["metadata"]
    assert list(server.snapshot()) == ["node"]


def test_what_exists_cannot_be_created_and_what_does_not_cannot_be_changed(server):
    server.create("a")
    for call, code in ((server.create, 409), (server.update, 404), (server.update_status, 404), (server.delete, 404)):
        with pytest.raises(ApiError) as raised:
            call("a" if code == 409 else "b")
        assert raised.value.code == code
    assert server.resource_version == "2"


def test_the_history_has_all_changes(server):
    server.create("a")
    server.update("a")
    server.compact()
    server.delete("a")
    server.inject(WatchEvent(ADDED, {}))
    assert [brief(event) for event in server.history()] == ["ADDED a@2", "MODIFIED a@3", "DELETED a@4"]


# Lists.


def test_a_list_is_ordered_by_key(server):
    server.create("b")
    server.create("c", namespace="another")
    server.create("a")
    page = server.list(ListOptions())
    assert (names(page.items), page.resource_version, page.continue_token) == (["c", "a", "b"], "4", "")


@pytest.mark.parametrize("resource_version", ["", "0", "1", "2", "3"])
def test_a_list_shows_the_newest_state_whatever_older_one_would_do(server, resource_version):
    server.create("a")
    server.update("a", value=2)
    page = server.list(ListOptions(resource_version=resource_version))
    assert page.resource_version == "3"
    assert page.items == [server.snapshot()["default/a"]]


def test_a_list_of_the_future(server):
    with pytest.raises(ApiError) as raised:
        server.list(ListOptions(resource_version="2"))
    assert is_too_large_resource_version(raised.value)
    assert (raised.value.code, raised.value.causes) == (504, ("ResourceVersionTooLarge",))


@pytest.mark.parametrize(
    "options",
    [
        {"resource_version": "x"},
        {"resource_version": "-1"},
        {"continue_token": "x"},
        {"continue_token": "2:default/a", "resource_version": "2"},
        {"label_selector": "a=b c"},
        {"field_selector": "metadata.name"},
    ],
)
def test_a_request_that_makes_no_sense(server, options):
    with pytest.raises(ApiError) as raised:
        server.list(ListOptions(**options))
    assert raised.value.code == 400


def pages(server, limit, resource_version="", between=lambda: None):
    page = server.list(ListOptions(resource_version=resource_version, limit=limit))
    result = [page]
    while page.continue_token:
        between()
        page = server.list(ListOptions(limit=limit, continue_token=page.continue_token))
        result.append(page)
    return result


def test_pages_show_one_moment_although_objects_change(server):
    for name in "abcde":
        server.create(name, value=1)

    def change():
        server.update("e", value=server.update("d")["spec"]["value"] + 1)
        server.delete("c") if "default/c" in server.snapshot() else server.create("c", value=9)

    found = pages(server, 2, between=change)
    assert [names(page.items) for page in found] == [["a", "b"], ["c", "d"], ["e"]]
    assert {page.resource_version for page in found} == {"6"}
    assert {item["spec"]["value"] for page in found for item in page.items} == {1}


def test_a_last_page_that_is_full_does_not_continue(server):
    for name in "abcd":
        server.create(name)
    assert [len(page.items) for page in pages(server, 2)] == [2, 2]


def test_pages_of_a_moment_in_the_past(server):
    for name in "abc":
        server.create(name)
    first, second = pages(server, 1, resource_version="3")
    assert names(first.items) + names(second.items) == ["a", "b"]
    assert first.resource_version == second.resource_version == "3"
    server.compact()
    with pytest.raises(ApiError) as raised:
        pages(server, 1, resource_version="3")
    assert is_expired(raised.value)


def test_pages_expire(server):
    for name in "abc":
        server.create(name)
    server.update("a")
    token = server.list(ListOptions(limit=1)).continue_token
    server.compact()
    assert names(server.list(ListOptions(continue_token=token)).items) == ["b", "c"]
    server.update("a")
    server.compact()
    with pytest.raises(ApiError) as raised:
        server.list(ListOptions(continue_token=token))
    assert (raised.value.code, raised.value.reason) == (410, "Expired")


def test_a_cache_does_not_cut_its_lists_into_pages(server):
    for name in "abc":
        server.create(name)
    assert len(pages(server, 2, resource_version="0")) == 1
    server.cache_pages = True
    assert len(pages(server, 2, resource_version="0")) == 2


def test_objects_can_change_between_requests(server):
    for name in "abc":
        server.create(name)
    server.before_request = lambda request: server.delete("c") if request.options.continue_token else None
    found = pages(server, 2)
    assert names(found[1].items) == ["c"]
    assert names(server.list(ListOptions()).items) == ["a", "b"]


# Selectors.


@pytest.mark.parametrize(
    ("label_selector", "selected"),
    [
        ("app=web", "ab"),
        ("app==web,tier=1", "a"),
        ("app!=web", "cd"),
        ("app in (web, db)", "abc"),
        ("app notin (web,db)", "d"),
        ("tier", "ac"),
        ("!app", "d"),
        ("app in (web,db), tier", "ac"),
        ("", "abcd"),
    ],
)
def test_label_selectors(server, label_selector, selected):
    server.create("a", labels={"app": "web", "tier": "1"})
    server.create("b", labels={"app": "web"})
    server.create("c", labels={"app": "db", "tier": "2"})
    server.create("d")
    assert names(server.list(ListOptions(label_selector=label_selector)).items) == list(selected)


def test_field_selectors_and_pages(server):
    for name in "abc":
        server.create(name, value=1)
        server.create(name, namespace="other", value=2)
    page = server.list(ListOptions(field_selector="metadata.namespace=other,spec.value!=1", limit=2))
    rest = ListOptions(field_selector="metadata.namespace=other", continue_token=page.continue_token)
    assert names(page.items) + names(server.list(rest).items) == ["a", "b", "c"]


def test_objects_come_and_go_by_their_labels(server):
    server.create("a", labels={"app": "db"})
    watch = watch_from(server, server.resource_version, label_selector="app=web")
    server.update("a", labels={"app": "web"}, value=1)
    server.update("a", value=2)
    server.update("a", labels={"app": "db"}, value=3)
    server.update("a", value=4)
    server.delete("a")
    server.cut_watches()
    events = list(watch)
    assert [brief(event) for event in events] == ["ADDED a@3", "MODIFIED a@4", "DELETED a@5"]
    assert events[-1].object["spec"] == {"value": 2}


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


# What a test sees and waits for.


def test_requests_can_be_read(server):
    server.list(ListOptions(resource_version="0", limit=500))
    server.list(ListOptions(limit=5, continue_token="1:a", label_selector="app=web", field_selector="spec.x=1"))
    watch_from(server, "1", allow_watch_bookmarks=True, timeout_seconds=437)
    assert [str(request) for request in server.requests] == [
        'LIST rv="0" limit=500',
        'LIST rv="" limit=5 continue="1:a" labels="app=web" fields="spec.x=1"',
        'WATCH rv="1" bookmarks',
    ]
    assert server.wait_for_requests(3, SECONDS)
    assert not server.wait_for_requests(4, 0.0)


def test_waiting_ends_without_success(server):
    assert not server.wait_for_watchers(1, 0.0)
    assert not server.wait_until_caught_up(1, 0.0)
    watch_from(server, "1")
    assert server.wait_for_watchers(1, 0.0)
    assert not server.wait_until_caught_up(1, 0.0)


def test_a_request_can_be_held_up(server):
    entered, may_go_on = threading.Event(), threading.Event()

    def hold(request):
        entered.set()
        may_go_on.wait(SECONDS)

    server.before_request = hold
    found = []
    asking = threading.Thread(target=lambda: found.append(server.list(ListOptions())), daemon=True)
    asking.start()
    assert entered.wait(SECONDS)
    server.create("a")
    may_go_on.set()
    asking.join(SECONDS)
    assert names(found[0].items) == ["a"]


def test_thousands_of_objects_and_several_watchers(server):
    for number in range(10_000):
        server.create(f"p{number}", value=0)
    readers = [Reader(watch_from(server, server.resource_version)) for _ in range(3)]
    for number in range(10_000):
        server.update(f"p{number}", value=1)
    assert server.wait_until_caught_up(3, 60.0)
    assert [len(reader.events) for reader in readers] == [10_000] * 3
    assert sum(len(page.items) for page in pages(server, 500)) == 10_000


# Under the explorer.


def test_it_can_be_explored():
    def setup(load):
        made = load("kcache_conformance.informers.fake_server").FakeServer()
        options = load("kcache.informers.list_watch").ListOptions
        watch = made.watch(options(resource_version="1"))

        def change():
            made.create("a")
            made.cut_watches()

        return change, lambda: [event.type for event in watch]

    def check(results):
        return None if results[1] == [ADDED] else f"the watch showed {results[1]}"

    scenario = Scenario(("kcache_conformance.informers", "kcache.informers"), setup, check)
    result = explore_scenario(scenario, seconds=5.0, executions=40, granularity=Granularity.GIL)
    assert result.problem is None
    assert result.executions > 1
