"""What a reflector asks of a server; sequences marked "recorded" are those of client-go."""

from __future__ import annotations

import random

import pytest

from kcache.informers.api_errors import ApiError
from kcache.informers.list_watch import ADDED, DELETED, MODIFIED, ListWatch
from kcache.informers.list_watch import ObjectList as Page
from kcache.informers.reflector import Reflector
from kcache.informers.reflector_errors import ListError, VeryShortWatchError, WatchError
from kcache.informers.stopping import StopSignal
from stateful_tests.material.informer_support import WATCHDOG_SECONDS, in_thread
from stateful_tests.material.reflector_support import (
    EXPIRED,
    TOO_LARGE,
    RecordingStore,
    ScriptedServer,
    SkippingClock,
    error_event,
    list_fails,
    lists,
    new_event,
    new_obj,
    run_reflector,
    watches,
)


def test_recorded_list_then_watch() -> None:
    outcome = run_reflector(
        lists(new_obj("u1", "1"), new_obj("u2", "2"), rv="10"),
        watches(
            new_event(ADDED, "u3", "11"),
            new_event(MODIFIED, "u1", "12"),
            new_event(DELETED, "u2", "13"),
            new_event(MODIFIED, "u6", "14"),
            new_event(DELETED, "u7", "15"),
        ),
    )
    assert outcome.calls == ['LIST rv="0" limit=500', 'WATCH rv="10" bookmarks=true']
    assert outcome.store.log == [
        "replace u1@1 u2@2 rv=10",
        "add u3@11",
        "update u1@12",
        "delete u2@13",
        "update u6@14",
        "delete u7@15",
    ]
    assert outcome.reflector.last_sync_resource_version() == "15"
    assert outcome.errors == []


def test_recorded_new_list_after_a_watch_that_ended_with_gone() -> None:
    outcome = run_reflector(
        lists(new_obj("u1", "1"), rv="10"),
        watches(error_event(EXPIRED)),
        lists(new_obj("u1", "1"), new_obj("u4", "16"), rv="20"),
        watches(new_event(ADDED, "u5", "21")),
    )
    assert outcome.calls == [
        'LIST rv="0" limit=500',
        'WATCH rv="10" bookmarks=true',
        'LIST rv="10" limit=0',
        'WATCH rv="20" bookmarks=true',
    ]
    assert len(outcome.waits) == 1
    assert outcome.store.log == ["replace u1@1 rv=10", "replace u1@1 u4@16 rv=20", "add u5@21"]


@pytest.mark.parametrize("error", [EXPIRED, ApiError(410, "Gone", "gone"), TOO_LARGE])
def test_recorded_expired_list_is_repeated_at_once_for_the_newest(error: ApiError) -> None:
    outcome = run_reflector(
        lists(new_obj("u1", "1"), rv="10"),
        watches(error_event(EXPIRED)),
        list_fails(error),
        lists(new_obj("u1", "29"), rv="30"),
        watches(new_event(ADDED, "u5", "31")),
    )
    assert outcome.calls == [
        'LIST rv="0" limit=500',
        'WATCH rv="10" bookmarks=true',
        'LIST rv="10" limit=0',
        'LIST rv="" limit=0',
        'WATCH rv="30" bookmarks=true',
    ]
    assert len(outcome.waits) == 1, "only after the watch"


def test_recorded_watch_that_closes_is_resumed_and_one_that_closes_at_once_leads_to_a_list() -> None:
    outcome = run_reflector(
        lists(new_obj("u1", "1"), rv="10"),
        watches(new_event(MODIFIED, "u1", "11")),
        watches(new_event(MODIFIED, "u1", "12")),
        watches(),
        lists(new_obj("u1", "1"), rv="10"),
        watches(new_event(MODIFIED, "u1", "13")),
    )
    assert outcome.calls == [
        'LIST rv="0" limit=500',
        'WATCH rv="10" bookmarks=true',
        'WATCH rv="11" bookmarks=true',
        'WATCH rv="12" bookmarks=true',
        'LIST rv="12" limit=0',
        'WATCH rv="10" bookmarks=true',
    ]
    assert len(outcome.waits) == 1
    [error] = outcome.errors
    assert isinstance(error, WatchError)
    assert isinstance(error.cause, VeryShortWatchError)


def test_recorded_list_errors_reach_the_handler_each_time_with_a_back_off() -> None:
    no_server = OSError("no server")
    outcome = run_reflector(
        *[list_fails(no_server)] * 3,
        lists(new_obj("u2", "29"), rv="30"),
        watches(new_event(ADDED, "u5", "31")),
    )
    assert [str(error) for error in outcome.errors] == ["failed to list pods: no server"] * 3
    assert all(isinstance(error, ListError) and error.cause is no_server for error in outcome.errors)
    assert outcome.calls == ['LIST rv="0" limit=500'] * 4 + ['WATCH rv="30" bookmarks=true']
    assert [base <= wait < 2 * base for base, wait in zip([0.8, 1.6, 3.2], outcome.waits, strict=True)] == [True] * 3


def test_after_a_failed_list_of_the_newest_the_newest_is_listed_again() -> None:
    outcome = run_reflector(
        lists(rv="10"),
        watches(error_event(EXPIRED)),
        list_fails(EXPIRED),
        list_fails(OSError("down")),
        lists(rv="30"),
        watches(error_event(EXPIRED)),
        lists(rv="31"),
        watches(new_event(ADDED, "u", "32")),
    )
    assert [call for call in outcome.calls if call.startswith("LIST")] == [
        'LIST rv="0" limit=500',
        'LIST rv="10" limit=0',
        'LIST rv="" limit=0',
        'LIST rv="" limit=500',
        'LIST rv="30" limit=0',
    ]


def test_an_expired_list_of_the_newest_is_an_error() -> None:
    outcome = run_reflector(
        list_fails(EXPIRED), list_fails(EXPIRED), lists(rv="5"), watches(new_event(ADDED, "u", "6"))
    )
    assert outcome.calls[:3] == ['LIST rv="0" limit=500', 'LIST rv="" limit=500', 'LIST rv="" limit=500']
    assert len(outcome.errors) == 1


def test_pages_are_put_together_before_the_store_is_filled() -> None:
    outcome = run_reflector(
        lists(new_obj("u1", "1"), rv="10", token="next"),
        lists(new_obj("u2", "2"), rv="11"),
        watches(new_event(ADDED, "u3", "12")),
        page_size=1,
    )
    assert outcome.calls == [
        'LIST rv="0" limit=1',
        'LIST rv="" limit=1 continue=next',
        'WATCH rv="10" bookmarks=true',
    ]
    assert outcome.store.log[0] == "replace u1@1 u2@2 rv=10"


def test_a_server_without_a_cache_is_always_asked_for_pages() -> None:
    outcome = run_reflector(
        lists(new_obj("u1", "1"), rv="10", token="next"),
        lists(new_obj("u2", "2"), rv="10"),
        watches(error_event(EXPIRED)),
        lists(rv="20"),
        watches(new_event(ADDED, "u3", "21")),
    )
    assert outcome.calls[3] == 'LIST rv="10" limit=500'


def test_pages_of_the_newest_do_not_mean_that_there_is_no_cache() -> None:
    outcome = run_reflector(
        lists(rv="10"),
        watches(error_event(EXPIRED)),
        list_fails(EXPIRED),
        list_fails(OSError("down")),
        lists(rv="20", token="next"),
        lists(rv="20"),
        watches(error_event(EXPIRED)),
        lists(rv="30"),
        watches(new_event(ADDED, "u", "31")),
    )
    assert outcome.calls[4:6] == ['LIST rv="" limit=500', 'LIST rv="" limit=500 continue=next']
    assert outcome.calls[7] == 'LIST rv="20" limit=0'


def test_resource_versions_are_opaque() -> None:
    outcome = run_reflector(
        lists(rv="é/7=="),
        watches(new_event(ADDED, "u", "not a number")),
        watches(new_event(ADDED, "u", "00")),
        watches(new_event(ADDED, "u", "-1")),
    )
    assert outcome.calls[1:] == [f'WATCH rv="{rv}" bookmarks=true' for rv in ("é/7==", "not a number", "00")]
    assert outcome.reflector.last_sync_resource_version() == "-1"


def test_watches_last_between_five_and_ten_minutes_at_random() -> None:
    script = [lists(rv="10")] + [watches(new_event(ADDED, "u", str(n))) for n in range(200)]
    outcome = run_reflector(*script, random=random.Random(3))
    timeouts = [options.timeout_seconds for options in outcome.options[1:]]
    assert all(type(timeout) is int and 300 <= timeout < 600 for timeout in timeouts)
    assert min(timeouts) < 320
    assert max(timeouts) > 580
    assert outcome.options[0].timeout_seconds is None
    assert not outcome.options[0].allow_watch_bookmarks


def test_no_resource_version_before_the_first_list() -> None:
    stop = StopSignal()
    versions = []

    def page() -> Page:
        versions.append(reflector.last_sync_resource_version())
        return Page([], "10")

    server = ScriptedServer(stop, ("LIST", page))
    reflector = Reflector(ListWatch(server.list, server.watch), RecordingStore(), clock=SkippingClock())
    versions.append(reflector.last_sync_resource_version())
    in_thread(reflector.run, stop).result(WATCHDOG_SECONDS)
    assert versions == ["", ""]
    assert reflector.last_sync_resource_version() == "10"


def test_the_resource_version_of_a_list_is_set_after_the_store_is_filled() -> None:
    store = RecordingStore()
    versions = []
    store.call["replace  rv=10"] = lambda: versions.append(reflectors[0].last_sync_resource_version())
    stop = StopSignal()
    server = ScriptedServer(stop, lists(rv="10"))
    reflectors = [Reflector(ListWatch(server.list, server.watch), store, clock=SkippingClock())]
    in_thread(reflectors[0].run, stop).result(WATCHDOG_SECONDS)
    assert versions == [""]
