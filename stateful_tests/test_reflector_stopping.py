"""A reflector is stopped at every moment of its life."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from kcache.informers.api_errors import ConnectionRefusedApiError
from kcache.informers.clock import FakeClock
from kcache.informers.list_watch import ADDED, BOOKMARK, DELETED, MODIFIED, ListWatch, WatchEvent
from kcache.informers.list_watch import ObjectList as Page
from kcache.informers.reflector import Reflector
from kcache.informers.reflector_errors import WatchError
from kcache.informers.stopping import StopSignal
from stateful_tests.material.informer_support import WATCHDOG_SECONDS, ScriptedWatch, in_thread
from stateful_tests.material.reflector_support import (
    BUSY,
    EXPIRED,
    BookmarkStore,
    RecordingStore,
    Reply,
    ScriptedServer,
    SkippingClock,
    list_fails,
    lists,
    new_event,
    new_obj,
    watch_fails,
    watches,
)


def test_a_reflector_that_is_stopped_before_it_runs_asks_nothing() -> None:
    stop = StopSignal()
    stop.set()
    server = ScriptedServer(stop)
    in_thread(Reflector(ListWatch(server.list, server.watch), RecordingStore()).run, stop).result(WATCHDOG_SECONDS)
    assert server.calls == []


class _Moments:
    """Sets the stop signal at the n-th moment at which something of the reflector's surroundings is called."""

    def __init__(self, at: int) -> None:
        self.stop = StopSignal()
        self.moments: list[str] = []
        self._at = at

    def __call__(self, moment: str) -> None:
        self.moments.append(moment)
        if len(self.moments) == self._at:
            self.stop.set()


def _run_with_stop_at(at: int) -> tuple[_Moments, RecordingStore]:
    """A life with every kind of trouble, stopped at one moment of it."""
    moments = _Moments(at)
    stop = moments.stop
    store = BookmarkStore(stop)

    def page(*objects: Any, rv: str = "10", token: str = "", error: Exception | None = None) -> Callable[[], Page]:
        def reply() -> Page:
            moments("list")
            if error is not None:
                raise error
            return Page(objects, rv, token)

        return reply

    def stream(*events: WatchEvent | Exception) -> Callable[[], Iterator[WatchEvent]]:
        def iterate() -> Iterator[WatchEvent]:
            for event in events:
                moments("iteration")
                if isinstance(event, Exception):
                    raise event
                yield event
            moments("end of iteration")

        def opened() -> Iterator[WatchEvent]:
            moments("open")
            return iterate()

        return opened

    def refuse() -> Iterator[WatchEvent]:
        moments("open")
        raise ConnectionRefusedApiError

    class Clock(SkippingClock):
        def wait(self, stop: StopSignal, seconds: float) -> bool:
            moments("back-off")
            return super().wait(stop, seconds)

    def handler(_: Reflector, error: Exception) -> None:
        moments("handler")

    bookmark = WatchEvent(BOOKMARK, {"metadata": {"resourceVersion": "13"}})
    for write in ("replace u1@1 u2@2 rv=10", "add u3@11", "update u1@12", "bookmark 13"):
        store.call[write] = partial(moments, "write")
    server = ScriptedServer(
        stop,
        ("LIST", page(error=OSError("down"))),
        ("LIST", page(new_obj("u1", "1"), token="t")),
        ("LIST", page(error=EXPIRED)),
        ("LIST", page(new_obj("u1", "1"), new_obj("u2", "2"))),
        ("WATCH", stream(new_event(ADDED, "u3", "11"), new_event(MODIFIED, "u1", "12"), bookmark)),
        ("WATCH", refuse),
        ("WATCH", stream(new_event(DELETED, "u3", "14"), ValueError("odd"))),
        ("LIST", page(error=EXPIRED)),
        ("LIST", page(new_obj("u1", "15"), rv="15")),
        ("WATCH", stream()),
        ("LIST", page(rv="16")),
        ("WATCH", stream(new_event(ADDED, "u3", "17"))),
    )
    clock = Clock()
    reflector = Reflector(ListWatch(server.list, server.watch), store, clock=clock, watch_error_handler=handler)
    in_thread(reflector.run, stop).result(WATCHDOG_SECONDS)
    assert stop.is_set()
    return moments, store


_LIFE, _LIFE_STORE = _run_with_stop_at(0)


def test_the_life_that_is_stopped_everywhere_has_every_kind_of_moment() -> None:
    assert set(_LIFE.moments) == {"list", "open", "iteration", "end of iteration", "back-off", "handler", "write"}
    assert len(_LIFE_STORE.log) == 8


@pytest.mark.parametrize("at", range(1, len(_LIFE.moments) + 1))
def test_stop_at_every_moment_ends_all_writes_and_reports(at: int) -> None:
    moments, store = _run_with_stop_at(at)
    after = moments.moments[at:]
    assert [moment for moment in after if moment != "back-off"] == [], "a back-off ends at once"
    assert store.late == []
    assert store.log == _LIFE_STORE.log[: len(store.log)]


def test_stop_from_another_thread_ends_a_watch_that_waits() -> None:
    stop = StopSignal()
    watch = ScriptedWatch(new_event(ADDED, "u", "11"))
    server = ScriptedServer(stop, lists(rv="10"), ("WATCH", lambda: watch))
    store = RecordingStore()
    thread = in_thread(Reflector(ListWatch(server.list, server.watch), store).run, stop)
    assert watch.is_waiting.wait(WATCHDOG_SECONDS)
    stop.set()
    thread.result(WATCHDOG_SECONDS)
    assert store.log == ["replace  rv=10", "add u@11"]
    assert watch.stops >= 1


def test_stop_during_the_opening_of_a_watch_is_not_lost() -> None:
    stop = StopSignal()
    watch = ScriptedWatch(new_event(ADDED, "u", "11"))
    is_opening, go_on = threading.Event(), threading.Event()

    def opened() -> ScriptedWatch:
        is_opening.set()
        assert go_on.wait(WATCHDOG_SECONDS)
        return watch

    server = ScriptedServer(stop, lists(rv="10"), ("WATCH", opened))
    store = RecordingStore(stop)
    thread = in_thread(Reflector(ListWatch(server.list, server.watch), store).run, stop)
    assert is_opening.wait(WATCHDOG_SECONDS)
    stop.set()
    go_on.set()
    thread.result(WATCHDOG_SECONDS)
    assert watch.stops >= 1
    assert store.log == ["replace  rv=10"]


def test_a_watch_that_cannot_be_stopped_before_its_iteration_is_not_waited_for() -> None:
    class Forgetful(ScriptedWatch):
        def stop(self) -> None:
            """Forgets it, unless the iteration has begun."""

    stop = StopSignal()

    def opened() -> ScriptedWatch:
        stop.set()
        return Forgetful()

    server = ScriptedServer(stop, lists(rv="10"), ("WATCH", opened))
    in_thread(Reflector(ListWatch(server.list, server.watch), RecordingStore()).run, stop).result(WATCHDOG_SECONDS)


def test_events_that_are_left_when_it_is_time_to_stop_are_not_written() -> None:
    stop = StopSignal()
    store = RecordingStore(stop)
    store.call["add u@11"] = stop.set
    server = ScriptedServer(
        stop, lists(rv="10"), ("WATCH", lambda: [new_event(ADDED, "u", "11"), new_event(ADDED, "v", "12")])
    )
    reflector = Reflector(ListWatch(server.list, server.watch), store)
    in_thread(reflector.run, stop).result(WATCHDOG_SECONDS)
    assert store.log == ["replace  rv=10", "add u@11"]
    assert reflector.last_sync_resource_version() == "11"


def test_an_event_that_a_watch_shows_though_it_was_stopped_is_not_written() -> None:
    stop = StopSignal()

    class Late:
        def __iter__(self) -> Iterator[WatchEvent]:
            stop.set()
            yield new_event(ADDED, "u", "11")

        def stop(self) -> None:
            """Does nothing."""

    store = RecordingStore(stop)
    server = ScriptedServer(stop, lists(rv="10"), ("WATCH", Late))
    in_thread(Reflector(ListWatch(server.list, server.watch), store).run, stop).result(WATCHDOG_SECONDS)
    assert store.log == ["replace  rv=10"]


@pytest.mark.parametrize("script", [[], [lists(rv="10")]], ids=["list", "watch"])
def test_list_and_watch_returns_if_it_was_stopped_and_fails_for_that(script: list[tuple[str, Reply]]) -> None:
    stop = StopSignal()
    server = ScriptedServer(stop, *script)
    reflector = Reflector(ListWatch(server.list, server.watch), RecordingStore())
    in_thread(reflector.list_and_watch, stop).result(WATCHDOG_SECONDS)
    assert stop.is_set()


def test_nothing_stays_registered_with_the_stop_signal() -> None:
    class Counting(StopSignal):
        registered = 0

        def call_on_stop(self, callback: Callable[[], object]) -> Callable[[], None]:
            self.registered += 1
            revoke = super().call_on_stop(callback)

            def counted() -> None:
                self.registered -= 1
                revoke()

            return counted

    stop = Counting()
    server = ScriptedServer(stop, lists(rv="10"), watches(new_event(ADDED, "u", "11")), watch_fails(OSError("net")))
    reflector = Reflector(ListWatch(server.list, server.watch), RecordingStore(), resync_seconds=1000)
    with pytest.raises(WatchError):
        reflector.list_and_watch(stop)
    assert stop.registered == 0


def test_a_connection_that_fails_because_it_was_stopped_is_no_error() -> None:
    class Torn(ScriptedWatch):
        def __iter__(self) -> Iterator[WatchEvent]:
            yield from super().__iter__()
            raise OSError("bad file descriptor")

    stop, watch, errors = StopSignal(), Torn(), list[Exception]()
    server = ScriptedServer(stop, lists(rv="10"), ("WATCH", lambda: watch))
    reflector = Reflector(
        ListWatch(server.list, server.watch),
        RecordingStore(),
        watch_error_handler=lambda _, error: errors.append(error),
    )
    thread = in_thread(reflector.run, stop)
    assert watch.is_waiting.wait(WATCHDOG_SECONDS)
    stop.set()
    thread.result(WATCHDOG_SECONDS)
    assert errors == []


@pytest.mark.parametrize("script", [(list_fails(OSError("down")),), (lists(rv="10"), watch_fails(BUSY))])
def test_stop_ends_a_back_off(script: tuple[tuple[str, Reply], ...]) -> None:
    stop, clock = StopSignal(), FakeClock()
    server = ScriptedServer(stop, *script)
    reflector = Reflector(
        ListWatch(server.list, server.watch), RecordingStore(), clock=clock, watch_error_handler=lambda _, __: None
    )
    thread = in_thread(reflector.run, stop)
    assert clock.wait_for_waiters(1)
    stop.set()
    thread.result(WATCHDOG_SECONDS)
    assert clock.waiting() == ()


def test_stop_many_times_at_random_moments() -> None:
    for seed in range(100):
        stop = StopSignal()
        watch = ScriptedWatch(*[new_event(ADDED, "u", str(n)) for n in range(20)])
        store = RecordingStore()
        reflector = Reflector(ListWatch(lambda _: Page([], "10"), lambda _, watch=watch: watch), store)
        thread = in_thread(reflector.run, stop)
        for _ in range(random.Random(seed).randrange(400)):
            pass
        stop.set()
        thread.result(WATCHDOG_SECONDS)
