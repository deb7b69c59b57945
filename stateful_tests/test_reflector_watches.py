"""How watches end, and what a reflector does then."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace

import pytest

from kcache.informers import watching
from kcache.informers.api_errors import ApiError, ConnectionRefusedApiError
from kcache.informers.list_watch import ADDED, ERROR, WatchEvent
from kcache.informers.reflector_errors import VeryShortWatchError, WatchError
from stateful_tests.material.informer_support import ScriptedWatch
from stateful_tests.material.reflector_support import (
    BUSY,
    EXPIRED,
    INTERNAL,
    SkippingClock,
    error_event,
    lists,
    new_event,
    run_reflector,
    watch_fails,
    watches,
)


@pytest.mark.parametrize("error", [ConnectionRefusedApiError(), ConnectionRefusedError("refused"), BUSY, INTERNAL])
def test_a_server_that_is_away_or_busy_is_watched_again_without_a_list(error: Exception) -> None:
    outcome = run_reflector(
        lists(rv="10"),
        watch_fails(error),
        watch_fails(error),
        watches(new_event(ADDED, "u", "11")),
        watches(new_event(ADDED, "u", "12"), error),
        watches(new_event(ADDED, "u", "13")),
    )
    assert outcome.calls == [
        'LIST rv="0" limit=500',
        *['WATCH rv="10" bookmarks=true'] * 3,
        'WATCH rv="11" bookmarks=true',
        'WATCH rv="12" bookmarks=true',
    ]
    assert len(outcome.waits) == 3
    assert outcome.errors == []


@pytest.mark.parametrize("error", [BUSY, INTERNAL])
def test_the_same_as_events_of_the_watch(error: ApiError) -> None:
    outcome = run_reflector(lists(rv="10"), watches(error_event(error)), watches(new_event(ADDED, "u", "11")))
    assert outcome.calls[1:] == ['WATCH rv="10" bookmarks=true'] * 2
    assert len(outcome.waits) == 1


def test_internal_errors_that_go_on_lead_to_a_list() -> None:
    outcome = run_reflector(
        lists(rv="10"),
        *[watch_fails(INTERNAL)] * 5,
        lists(rv="20"),
        watches(new_event(ADDED, "u", "21")),
        random=random.Random(1),
        max_internal_error_retry_seconds=10,
    )
    [error] = outcome.errors
    assert isinstance(error, WatchError)
    assert error.cause is INTERNAL
    assert outcome.calls[-2:] == ['LIST rv="10" limit=0', 'WATCH rv="20" bookmarks=true']


def test_internal_errors_lead_to_a_list_at_once_where_no_time_is_given() -> None:
    outcome = run_reflector(
        lists(rv="10"),
        watches(error_event(INTERNAL)),
        lists(rv="20"),
        watches(new_event(ADDED, "u", "21")),
        max_internal_error_retry_seconds=0,
    )
    assert len(outcome.errors) == 1


@pytest.mark.parametrize("error", [ValueError("odd"), OSError("net"), ApiError(403, "Forbidden", "no"), EXPIRED])
@pytest.mark.parametrize("is_open", [False, True])
def test_other_errors_of_a_watch_reach_the_handler_and_lead_to_a_list(error: Exception, is_open: bool) -> None:
    outcome = run_reflector(
        lists(rv="10"),
        watches(new_event(ADDED, "u", "11"), error) if is_open else watch_fails(error),
        lists(rv="20"),
        watches(new_event(ADDED, "u", "21")),
    )
    rv = "11" if is_open else "10"
    assert outcome.calls[2] == f'LIST rv="{rv}" limit=0'
    [told] = outcome.errors
    assert isinstance(told, WatchError)
    assert told.cause is error
    assert str(told) == f"failed to watch pods: {error}"
    assert len(outcome.waits) == 1


def test_error_events_become_api_errors() -> None:
    status = {
        "code": 403,
        "reason": "Forbidden",
        "message": "not yours",
        "details": {"causes": [{"reason": "Because", "message": "of that"}]},
    }
    outcome = run_reflector(lists(rv="10"), watches(WatchEvent(ERROR, status)), lists(rv="10"))
    [told] = outcome.errors
    assert isinstance(told, WatchError)
    error = told.cause
    assert isinstance(error, ApiError)
    assert (error.code, error.reason, error.message, error.causes) == (403, "Forbidden", "not yours", ("Because",))


@pytest.mark.parametrize("error", [EOFError("cut"), ConnectionResetError("cut")])
def test_a_cut_connection_is_resumed_like_one_that_was_closed(error: Exception) -> None:
    outcome = run_reflector(
        lists(rv="10"), watches(new_event(ADDED, "u", "11"), error), watches(new_event(ADDED, "u", "12"))
    )
    assert outcome.calls[1:] == ['WATCH rv="10" bookmarks=true', 'WATCH rv="11" bookmarks=true']
    assert outcome.errors == outcome.waits == []


def test_a_watch_without_events_is_resumed_if_it_lasted() -> None:
    clock = SkippingClock()

    def quiet() -> Iterator[WatchEvent]:
        clock.step(1.0)
        return iter(())

    outcome = run_reflector(
        lists(rv="10"), ("WATCH", quiet), ("WATCH", quiet), watches(new_event(ADDED, "u", "11")), clock=clock
    )
    assert outcome.calls[1:] == ['WATCH rv="10" bookmarks=true'] * 3
    assert clock.waits == []


def test_other_threads_get_a_turn_while_events_keep_coming(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the queue grows for as long as the interpreter lets a thread that never waits go on."""
    turns: list[tuple[int, float]] = []
    events = [new_event(ADDED, f"u{number}", str(11 + number)) for number in range(200)]

    def counted() -> Iterator[WatchEvent]:
        for number, event in enumerate(events, 1):
            times = SimpleNamespace(sleep=lambda seconds, number=number: turns.append((number, seconds)))
            monkeypatch.setattr(watching, "time", times)
            yield event

    run_reflector(lists(rv="10"), ("WATCH", counted))
    assert turns == [(number, 50e-6) for number in (32, 64, 96, 128, 160, 192)]


def test_dropped_events_do_not_make_a_short_watch_a_good_one() -> None:
    outcome = run_reflector(lists(rv="10"), watches(WatchEvent(ADDED, 5)), lists(rv="10"))
    assert isinstance(outcome.errors[0].cause, VeryShortWatchError)  # type: ignore[attr-defined]


def test_a_generator_of_events_is_closed_even_while_its_error_is_kept() -> None:
    is_closed = []

    def stream() -> Iterator[WatchEvent]:
        try:
            yield error_event(EXPIRED)
        finally:
            is_closed.append(True)

    kept: list[tuple[Exception, bool]] = []
    run_reflector(
        lists(rv="10"),
        ("WATCH", stream),
        lists(rv="20"),
        watch_error_handler=lambda _, error: kept.append((error, bool(is_closed))),
    )
    assert [was_closed for _, was_closed in kept] == [True]


def test_each_watch_is_stopped_once_it_has_ended() -> None:
    watches = [
        ScriptedWatch(new_event(ADDED, "u", "11")),
        ScriptedWatch(new_event(ADDED, "u", "12"), error_event(EXPIRED)),
    ]
    watches[0].send(None)
    outcome = run_reflector(
        lists(rv="10"), *[("WATCH", partial(lambda watch: watch, watch)) for watch in watches], lists(rv="20")
    )
    assert [watch.stops for watch in watches] == [1, 1], "stopped, and not a second time by the signal"
    assert outcome.store.log[:3] == ["replace  rv=10", "add u@11", "add u@12"]
