"""The fake API server answers as the real one, and goes wrong exactly as it is told."""

import threading

import pytest

from kcache.informers.api_errors import (
    ApiError,
    is_expired,
    is_too_large_resource_version,
)
from kcache.informers.list_watch import (
    ADDED,
    ListOptions,
    WatchEvent,
)
from kcache_conformance.informers.fake_server import FakeServer
from kcache_stress.engine.granularity import Granularity
from kcache_stress.target.scenarios import Scenario, explore_scenario
from stateful_tests.material.fake_server_support import SECONDS, Reader, brief, names, watch_from


@pytest.fixture
def server():
    with_server = FakeServer()
    yield with_server
    with_server.close()


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


@pytest.mark.nightly
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
