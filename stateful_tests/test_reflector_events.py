"""What a reflector makes of events, and of functions that misbehave."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import kcache
from kcache import KcacheError, KeyFuncError
from kcache.informers.list_watch import ADDED, BOOKMARK, DELETED, MODIFIED, ListWatch, WatchEvent
from kcache.informers.list_watch import ObjectList as Page
from kcache.informers.reflector import Reflector, default_watch_error_handler
from kcache.informers.reflector_errors import ListError, SyncError, WatchError
from kcache.informers.stopping import StopSignal
from stateful_tests.material.informer_support import WATCHDOG_SECONDS, ScriptedWatch, in_thread
from stateful_tests.material.reflector_support import (
    EXPIRED,
    BookmarkStore,
    RecordingStore,
    ScriptedServer,
    list_fails,
    lists,
    new_event,
    new_obj,
    run_reflector,
    watches,
)


def test_bookmarks_move_only_the_resource_version() -> None:
    outcome = run_reflector(
        lists(rv="10"), watches(WatchEvent(BOOKMARK, {"metadata": {"resourceVersion": "99"}})), watches()
    )
    assert outcome.store.log == ["replace  rv=10"]
    assert outcome.reflector.last_sync_resource_version() == "99"
    assert outcome.calls[-1] == 'WATCH rv="99" bookmarks=true'


def test_a_store_that_wants_bookmarks_gets_them_whatever_their_type() -> None:
    bookmark = WatchEvent(BOOKMARK, {"metadata": {"resourceVersion": "99"}})
    outcome = run_reflector(lists(rv="10"), watches(bookmark), store=BookmarkStore(), expected_type=_Unlike)
    assert outcome.store.log == ["replace  rv=10", "bookmark 99"]
    assert outcome.reflector.last_sync_resource_version() == "99"


class _Unlike:
    """Not the type of the other objects."""


class _Pod:
    def __init__(self, version: str) -> None:
        self.name, self.namespace, self.resource_version = "p", "a", version

    def __str__(self) -> str:
        return f"pod@{self.resource_version}"


def test_recorded_events_of_an_unexpected_type_are_dropped(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "kcache.informers"):
        outcome = run_reflector(
            lists(rv="10"),
            watches(new_event(ADDED, "u", "200"), WatchEvent(ADDED, _Pod("300"))),
            expected_type=_Pod,
        )
    assert outcome.store.log == ["replace  rv=10", "add pod@300"]
    assert caplog.messages == ["expected type _Pod, but watch event object had type dict"]


@pytest.mark.parametrize("obj", [None, 5, "text", {}, {"metadata": None}, {"metadata": {"resourceVersion": 7}}])
@pytest.mark.parametrize("kind", [ADDED, BOOKMARK])
def test_events_without_metadata_are_dropped(kind: str, obj: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "kcache.informers"):
        outcome = run_reflector(lists(rv="10"), watches(WatchEvent(kind, obj), new_event(ADDED, "u", "12")))
    assert outcome.store.log == ["replace  rv=10", "add u@12"]
    assert caplog.messages[0].startswith("unable to understand watch event")


def test_unknown_event_types_are_dropped(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "kcache.informers"):
        outcome = run_reflector(lists(rv="10"), watches(new_event("SOMETHING", "u", "11")), lists(rv="10"))
    assert outcome.calls[-1] == 'LIST rv="10" limit=0', "the resource version did not move"
    assert caplog.messages[0].startswith("unable to understand watch event")


def test_an_event_without_a_resource_version_does_not_move_it() -> None:
    outcome = run_reflector(lists(rv="10"), watches(new_event(ADDED, "u", "")), watches(new_event(ADDED, "u", "11")))
    assert outcome.store.log == ["replace  rv=10", "add u@", "add u@11"]
    assert outcome.calls[1:] == ['WATCH rv="10" bookmarks=true'] * 2


@pytest.mark.parametrize(("kind", "verb"), [(ADDED, "add"), (MODIFIED, "update"), (DELETED, "delete")])
def test_an_event_that_the_store_does_not_take_is_dropped(
    kind: str, verb: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = RecordingStore()
    store.errors[f"{verb} u@11"] = KeyFuncError("u", ValueError("no key"))
    with caplog.at_level(logging.ERROR, "kcache.informers"):
        outcome = run_reflector(lists(rv="10"), watches(new_event(kind, "u", "11")), watches(), store=store)
    assert outcome.calls[-1] == 'WATCH rv="11" bookmarks=true', "the resource version moved"
    assert "no key" in caplog.messages[0]


def test_any_other_error_of_the_store_leads_to_a_list_which_makes_it_whole() -> None:
    store = RecordingStore()
    broken = RuntimeError("broken store")
    store.errors["add u@11"] = broken
    outcome = run_reflector(
        lists(rv="10"), watches(new_event(ADDED, "u", "11")), lists(new_obj("u", "11"), rv="11"), store=store
    )
    assert [str(error) for error in outcome.errors] == ["failed to watch pods: broken store"]
    assert outcome.store.log == ["replace  rv=10", "replace u@11 rv=11"]
    assert outcome.calls[-1] == 'LIST rv="10" limit=0'


@pytest.mark.parametrize("error", [KcacheError("bad object"), RuntimeError("bad object")])
def test_a_list_that_the_store_does_not_take_is_an_error(error: Exception) -> None:
    store = RecordingStore()
    store.errors["replace  rv=10"] = error
    outcome = run_reflector(lists(rv="10"), lists(rv="20"), watches(new_event(ADDED, "u", "21")), store=store)
    [told] = outcome.errors
    assert isinstance(told, SyncError)
    assert told.cause is error
    assert str(told) == "unable to sync list result of pods: bad object"
    assert outcome.calls == ['LIST rv="0" limit=500'] * 2 + ['WATCH rv="20" bookmarks=true']
    assert len(outcome.waits) == 1


def test_the_very_objects_of_the_server_reach_the_store_unchanged() -> None:
    listed, added = new_obj("u1", "1"), new_obj("u2", "11")
    outcome = run_reflector(lists(listed, rv="10"), watches(WatchEvent(ADDED, added)))
    assert [id(obj) for obj in outcome.store.objects] == [id(listed), id(added)]
    assert (listed, added) == (new_obj("u1", "1"), new_obj("u2", "11"))


def test_items_may_come_from_a_generator() -> None:
    outcome = run_reflector(("LIST", lambda: Page((obj for obj in [new_obj("u1", "1")]), "10")))  # type: ignore[arg-type]
    assert outcome.store.log == ["replace u1@1 rv=10"]


def test_a_plain_store_will_do() -> None:
    store = kcache.new_store(kcache.meta_namespace_key_func)
    run_reflector(
        lists(new_obj("u1", "1"), rv="10"),
        watches(new_event(ADDED, "u2", "11"), WatchEvent(BOOKMARK, {"metadata": {"resourceVersion": "99"}})),
        store=store,
    )
    assert sorted(store.list_keys()) == ["a/u1", "a/u2"]
    assert store.last_sync_resource_version() == "99"


@pytest.mark.parametrize("answer", [None, 5, "text", Page(5, "10")])  # type: ignore[arg-type]
def test_odd_answers_to_a_list_are_errors(answer: Any) -> None:
    outcome = run_reflector(("LIST", lambda: answer), lists(rv="10"), watches(new_event(ADDED, "u", "11")))
    assert [type(error) for error in outcome.errors] == [ListError]


@pytest.mark.parametrize("answer", [None, 5, [5], [("ADDED", {})]])
def test_odd_answers_to_a_watch_are_errors(answer: Any) -> None:
    outcome = run_reflector(
        lists(rv="10"), ("WATCH", lambda: answer), lists(rv="10"), watches(new_event(ADDED, "u", "11"))
    )
    assert [type(error) for error in outcome.errors] == [WatchError]


def test_a_watch_error_handler_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def handler(reflector: Reflector, error: Exception) -> None:
        raise RuntimeError("the handler is broken")

    outcome = run_reflector(
        list_fails(OSError("down")), lists(rv="10"), watches(new_event(ADDED, "u", "11")), watch_error_handler=handler
    )
    assert outcome.store.log == ["replace  rv=10", "add u@11"]
    assert "the handler is broken" in caplog.text


def test_a_watch_whose_stop_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Stubborn(ScriptedWatch):
        def stop(self) -> None:
            super().stop()
            raise RuntimeError("will not stop")

    watch = Stubborn()
    stop = StopSignal()
    server = ScriptedServer(stop, lists(rv="10"), ("WATCH", lambda: watch))
    thread = in_thread(Reflector(ListWatch(server.list, server.watch), RecordingStore()).run, stop)
    assert watch.is_waiting.wait(WATCHDOG_SECONDS)
    stop.set()
    thread.result(WATCHDOG_SECONDS)
    assert "will not stop" in caplog.text


def test_the_handler_gets_the_reflector() -> None:
    told: list[Reflector] = []
    outcome = run_reflector(
        list_fails(OSError("down")), watch_error_handler=lambda reflector, _: told.append(reflector)
    )
    assert told == [outcome.reflector]


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (ListError("pods", OSError("down")), logging.WARNING),
        (WatchError("pods", OSError("down")), logging.WARNING),
        (SyncError("pods", KcacheError("bad")), logging.WARNING),
        (WatchError("pods", EXPIRED), logging.INFO),
        (ListError("pods", EOFError()), logging.DEBUG),
        (RuntimeError("no cause"), logging.WARNING),
    ],
)
def test_the_default_handler_logs(error: Exception, level: int, caplog: pytest.LogCaptureFixture) -> None:
    reflector = Reflector(ListWatch(lambda _: Page([], ""), lambda _: []), RecordingStore())
    with caplog.at_level(logging.DEBUG, "kcache.informers"):
        default_watch_error_handler(reflector, error)
    assert caplog.record_tuples == [("kcache.informers", level, str(error))]


def test_errors_name_the_expected_type_where_nothing_else_is_said() -> None:
    list_watch = ListWatch(lambda _: Page([], ""), lambda _: [])
    assert Reflector(list_watch, RecordingStore()).type_description == "<unspecified>"
    assert Reflector(list_watch, RecordingStore(), expected_type=_Pod).type_description == "_Pod"
    assert (
        Reflector(list_watch, RecordingStore(), expected_type=_Pod, type_description="pods").type_description == "pods"
    )


def test_list_and_watch_raises_what_run_reports() -> None:
    down = OSError("down")
    stop = StopSignal()
    server = ScriptedServer(stop, list_fails(down))
    with pytest.raises(ListError) as caught:
        Reflector(ListWatch(server.list, server.watch), RecordingStore()).list_and_watch(stop)
    assert caught.value.cause is down
    assert caught.value.type_description == "<unspecified>"
