"""A reflector that resyncs its store."""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import pytest

from kcache import KcacheError
from kcache.informers.clock import FakeClock
from kcache.informers.list_watch import ListWatch
from kcache.informers.reflector import Reflector
from kcache.informers.stopping import StopSignal
from stateful_tests.material.informer_support import WATCHDOG_SECONDS, ScriptedWatch, in_thread
from stateful_tests.material.reflector_support import (
    EXPIRED,
    RecordingStore,
    Reply,
    ScriptedServer,
    error_event,
    list_fails,
    lists,
)


@dataclass
class _Resyncing:
    stop: StopSignal
    clock: FakeClock
    store: RecordingStore
    watch: ScriptedWatch
    thread: Future[None]


def _resyncing(*script: tuple[str, Reply], store: RecordingStore | None = None, **settings: Any) -> _Resyncing:
    stop, clock, watch = StopSignal(), FakeClock(), ScriptedWatch()
    store = store or RecordingStore()
    server = ScriptedServer(stop, *script, lists(rv="10"), ("WATCH", lambda: watch))
    reflector = Reflector(ListWatch(server.list, server.watch), store, resync_seconds=5, clock=clock, **settings)
    thread = in_thread(reflector.run, stop)
    return _Resyncing(stop, clock, store, watch, thread)


def _resync_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "kcache-resync"]


def test_resync_comes_once_per_period_and_its_thread_goes_with_the_reflector() -> None:
    run = _resyncing()
    assert run.clock.wait_for_waiters(1)
    assert run.clock.waiting() == (5.0,)
    run.clock.step(4.9)
    assert run.store.log == ["replace  rv=10"]
    synced = threading.Semaphore(0)
    run.store.call["resync"] = synced.release
    run.clock.step(0.1)
    assert synced.acquire(timeout=WATCHDOG_SECONDS)
    assert run.clock.wait_for_waiters(1)
    run.clock.step(5)
    assert synced.acquire(timeout=WATCHDOG_SECONDS)
    assert len(_resync_threads()) == 1
    run.stop.set()
    run.thread.result(WATCHDOG_SECONDS)
    assert _resync_threads() == []
    assert run.store.log == ["replace  rv=10", "resync", "resync"]


def test_recorded_no_resync_without_a_period() -> None:
    stop, clock, watch = StopSignal(), FakeClock(), ScriptedWatch()
    server = ScriptedServer(stop, lists(rv="10"), ("WATCH", lambda: watch))
    store = RecordingStore()
    thread = in_thread(Reflector(ListWatch(server.list, server.watch), store, clock=clock).run, stop)
    assert watch.is_waiting.wait(WATCHDOG_SECONDS)
    assert clock.waiting() == ()
    assert _resync_threads() == []
    stop.set()
    thread.result(WATCHDOG_SECONDS)


def test_should_resync_is_asked_each_time() -> None:
    answers: queue.Queue[bool] = queue.Queue()
    asked = threading.Semaphore(0)

    def should_resync() -> bool:
        asked.release()
        return answers.get(timeout=WATCHDOG_SECONDS)

    run = _resyncing(should_resync=should_resync)
    for answer in (False, True, False):
        assert run.clock.wait_for_waiters(1)
        answers.put(answer)
        run.clock.step(5)
        assert asked.acquire(timeout=WATCHDOG_SECONDS)
    run.stop.set()
    run.thread.result(WATCHDOG_SECONDS)
    assert run.store.log == ["replace  rv=10", "resync"]


def test_errors_of_a_resync_are_logged_and_end_nothing(caplog: pytest.LogCaptureFixture) -> None:
    failures = iter([KcacheError("first"), RuntimeError("second")])
    done = threading.Semaphore(0)

    def should_resync() -> bool:
        done.release()
        error = next(failures, None)
        if error is not None:
            raise error
        return True

    run = _resyncing(should_resync=should_resync)
    for _ in range(3):
        assert run.clock.wait_for_waiters(1)
        run.clock.step(5)
        assert done.acquire(timeout=WATCHDOG_SECONDS)
    run.stop.set()
    run.thread.result(WATCHDOG_SECONDS)
    assert run.store.log == ["replace  rv=10", "resync"]
    assert "first" in caplog.text
    assert "second" in caplog.text


def test_stop_ends_the_wait_for_a_resync() -> None:
    run = _resyncing()
    assert run.clock.wait_for_waiters(1)
    run.stop.set()
    run.thread.result(WATCHDOG_SECONDS)
    assert run.clock.waiting() == ()
    assert _resync_threads() == []


def test_resync_ends_even_if_the_watch_does_not() -> None:
    class Stubborn(ScriptedWatch):
        def stop(self) -> None:
            """Goes on."""

    stop, clock, watch = StopSignal(), FakeClock(), Stubborn()
    server = ScriptedServer(stop, lists(rv="10"), ("WATCH", lambda: watch))
    reflector = Reflector(ListWatch(server.list, server.watch), RecordingStore(), resync_seconds=5, clock=clock)
    thread = in_thread(reflector.run, stop)
    assert clock.wait_for_waiters(1)
    assert watch.is_waiting.wait(WATCHDOG_SECONDS)
    [resyncing] = _resync_threads()
    stop.set()
    resyncing.join(WATCHDOG_SECONDS)
    assert not resyncing.is_alive()
    assert not thread.done()
    watch.send(None)
    thread.result(WATCHDOG_SECONDS)


def test_there_is_no_resync_before_the_first_list_nor_between_watch_and_list() -> None:
    told: queue.Queue[int] = queue.Queue()
    run = _resyncing(list_fails(OSError("down")), watch_error_handler=lambda _, __: told.put(len(_resync_threads())))
    assert told.get(timeout=WATCHDOG_SECONDS) == 0
    assert run.clock.wait_for_waiters(1)
    run.clock.step(2)
    assert run.watch.is_waiting.wait(WATCHDOG_SECONDS)
    assert run.clock.wait_for_waiters(1)
    assert run.clock.waiting() == (5.0,)
    run.watch.send(error_event(EXPIRED))
    assert told.get(timeout=WATCHDOG_SECONDS) == 0
    run.stop.set()
    run.thread.result(WATCHDOG_SECONDS)
