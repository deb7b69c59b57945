"""How informers start and end, wherever they are asked to: all threads end, nothing is kept, nobody waits for ever."""

from __future__ import annotations

import gc
import logging
import threading
import weakref

import pytest

from kcache.errors import InformerStartedError, InformerStoppedError
from kcache.informers import ApiError, FakeClock, SharedIndexInformer, StopSignal, wait_for_cache_sync
from stateful_tests.material.informer_support import WATCHDOG_SECONDS, Recorder, eventually, in_thread, threads_since

# Before, during and after.


def test_before_the_start_nothing_is_known(new_informer, server):
    informer = new_informer()
    assert not informer.has_synced()
    assert not informer.is_stopped()
    assert informer.last_sync_resource_version() == ""
    assert informer.get_store() is informer.get_indexer()
    assert informer.get_store().list() == []
    assert server.requests == ()


def test_an_informer_follows_the_server_until_the_block_ends(new_informer, server, new_queue):
    before = threading.enumerate()
    server.create("a")
    informer = new_informer(new_queue=new_queue, indexers={"names": lambda obj: [obj["metadata"]["name"]]})
    with informer as entered:
        assert entered is informer
        assert eventually(informer.has_synced)
        server.create("b")
        assert eventually(lambda: informer.get_indexer().index_keys("names", "b") == ["default/b"])
        assert eventually(lambda: informer.last_sync_resource_version() == server.resource_version)
        assert threads_since(before) == ["pods informer", "pods reflector"]
    assert threads_since(before) == []
    assert informer.is_stopped()
    assert sorted(informer.get_store().list_keys()) == ["default/a", "default/b"]


def test_what_a_block_raises_comes_through(new_informer):
    with pytest.raises(ZeroDivisionError), new_informer() as informer:
        raise ZeroDivisionError
    assert informer.is_stopped()


def test_an_informer_starts_once(new_informer, server, caplog):
    informer = new_informer()
    informer.start()
    with caplog.at_level(logging.WARNING, "kcache.informers"):
        informer.start()
        in_thread(informer.run, StopSignal()).result(WATCHDOG_SECONDS)
    assert caplog.text.count("the informer of pods has started before") == 2
    assert server.wait_for_watchers(1)
    assert len(server.requests) == 2
    assert informer.stop(WATCHDOG_SECONDS)
    informer.start()
    assert len(server.requests) == 2


def test_some_things_must_be_set_before_the_start(new_informer):
    with new_informer() as informer:
        for late in (
            lambda: informer.set_transform(lambda obj: obj),
            lambda: informer.set_watch_error_handler(print),
        ):
            with pytest.raises(InformerStartedError, match=r"^informer has already started$"):
                late()


def test_some_things_come_too_late_after_the_end(new_informer, journal):
    informer = new_informer()
    informer.stop()
    with pytest.raises(InformerStoppedError) as raised:
        informer.add_event_handler(Recorder(journal, "late"))
    assert str(raised.value) == "handler {late} was not added to shared informer because it has stopped already"
    with pytest.raises(InformerStoppedError) as raised:
        informer.add_indexers({"x": lambda obj: []})
    assert str(raised.value) == "indexer was not added because it has stopped already"


# Stop, from wherever, whenever.


def test_stop_before_the_start(new_informer, server, caplog):
    informer = new_informer()
    assert informer.stop()
    with caplog.at_level(logging.WARNING, "kcache.informers"):
        informer.start()
        in_thread(informer.run, StopSignal()).result(WATCHDOG_SECONDS)
    assert caplog.text.count("the informer of pods has been stopped before") == 2
    assert server.requests == ()
    assert informer.stop()


def test_run_ends_with_its_signal(new_informer, server):
    informer = new_informer()
    stop = StopSignal()
    running = in_thread(informer.run, stop)
    assert server.wait_for_watchers(1)
    stop.set()
    running.result(WATCHDOG_SECONDS)
    assert informer.is_stopped()
    assert stop._callbacks == []


def test_run_with_a_signal_that_is_set_ends_at_once(new_informer):
    stop = StopSignal()
    stop.set()
    informer = new_informer()
    in_thread(informer.run, stop).result(WATCHDOG_SECONDS)
    assert informer.is_stopped()


def test_stop_waits_for_run_in_another_thread(new_informer, server, journal):
    freed = threading.Event()
    called = threading.Event()

    def block(_):
        called.set()
        freed.wait(WATCHDOG_SECONDS)

    informer = new_informer()
    informer.add_event_handler(Recorder(journal, before=block))
    server.create("a")
    stop = StopSignal()
    running = in_thread(informer.run, stop)
    assert called.wait(WATCHDOG_SECONDS)
    assert not informer.stop(0.01)
    assert not running.done()
    freed.set()
    assert informer.stop(WATCHDOG_SECONDS)
    running.result(WATCHDOG_SECONDS)
    assert stop._callbacks == []


def test_stop_during_the_list(new_informer, server, new_queue):
    may_answer = threading.Event()
    server.before_request = lambda _: may_answer.wait(WATCHDOG_SECONDS)
    server.create("a")
    informer = new_informer(new_queue=new_queue)
    informer.start()
    assert server.wait_for_requests(1)
    assert not informer.stop(0.01)
    may_answer.set()
    assert informer.stop(WATCHDOG_SECONDS)
    assert not informer.has_synced()
    assert [request.verb for request in server.requests] == ["LIST"]


def test_stop_during_a_watch_closes_it(new_informer, server, new_queue):
    informer = new_informer(new_queue=new_queue)
    informer.start()
    assert server.wait_until_caught_up()
    assert informer.stop(WATCHDOG_SECONDS)
    assert server.wait_for_watchers(0, 0.0)


def test_stop_during_back_off(new_informer, server, clock):
    server.refuse_lists(1, ApiError(500))
    informer = new_informer()
    informer.start()
    assert clock.wait_for_waiters(1)
    assert informer.stop(WATCHDOG_SECONDS)
    assert len(server.requests) == 1


def test_stop_between_resyncs(new_informer, server, clock, new_queue):
    informer = new_informer(new_queue=new_queue, resync_seconds=1.0)
    informer.start()
    assert clock.wait_for_waiters(1)
    assert informer.stop(WATCHDOG_SECONDS)


def test_stop_from_two_threads(new_informer, server):
    informer = new_informer()
    informer.start()
    assert server.wait_for_watchers(1)
    stopping = [in_thread(informer.stop) for _ in range(2)]
    assert [future.result(WATCHDOG_SECONDS) for future in stopping] == [True, True]
    assert informer.stop()


def test_stop_and_start_at_the_same_time(new_informer, no_thread_left):
    for _ in range(50):
        informer = new_informer()
        starting, stopping = in_thread(informer.start), in_thread(informer.stop)
        starting.result(WATCHDOG_SECONDS)
        assert stopping.result(WATCHDOG_SECONDS)
        assert informer.stop(WATCHDOG_SECONDS)


def stop_from(where, informer, journal):
    """Let the informer be stopped by something that it calls; that it did not wait is in the journal."""

    def stop(*_):
        journal.write(f"stopped: {informer.stop()}")
        return []

    if where == "handler":
        informer.add_event_handler(Recorder(journal, before=stop))
    elif where == "index function":
        informer.add_indexers({"stopping": stop})
    elif where == "transformer":
        informer.set_transform(lambda obj: stop() or obj)
    else:
        informer.set_watch_error_handler(stop)


@pytest.mark.parametrize("where", ["handler", "index function", "transformer", "watch error handler"])
def test_stop_from_within_only_asks(where, new_informer, server, journal, new_queue):
    before = threading.enumerate()
    server.create("a")
    if where == "watch error handler":
        server.refuse_lists(1, ApiError(403, "Forbidden", "not you"))
    informer = new_informer(new_queue=new_queue)
    stop_from(where, informer, journal)
    informer.start()
    journal.wait_for("stopped: False")
    assert informer.stop(WATCHDOG_SECONDS)
    assert threads_since(before) == []


def test_stop_does_not_wait_longer_than_it_may(new_informer, server, journal):
    freed = threading.Event()
    called = threading.Event()

    def block(_):
        called.set()
        freed.wait(WATCHDOG_SECONDS)

    informer = new_informer()
    informer.add_event_handler(Recorder(journal, before=block))
    server.create("a")
    server.create("b")
    informer.start()
    assert called.wait(WATCHDOG_SECONDS)
    assert not informer.stop(0.0)
    assert not informer.stop(0.01)
    freed.set()
    assert informer.stop(WATCHDOG_SECONDS)
    assert len(journal.lines) == 1  # the other one was dropped


def test_stop_does_not_wait_for_what_is_being_applied(new_informer, server, new_queue):
    freed = threading.Event()
    called = threading.Event()

    def block(_):
        called.set()
        freed.wait(WATCHDOG_SECONDS)
        return []

    informer = new_informer(new_queue=new_queue, indexers={"blocks": block})
    server.create("a")
    informer.start()
    assert called.wait(WATCHDOG_SECONDS)
    assert in_thread(informer.stop, 0.01).result(WATCHDOG_SECONDS / 4) is False
    freed.set()
    assert informer.stop(WATCHDOG_SECONDS)


# What is kept.


class Manifest(dict):
    """An object that can be watched going."""


def test_what_waited_for_a_handler_is_let_go(new_informer, server, journal):
    freed = threading.Event()
    called = threading.Event()
    seen = []

    def block(_):
        called.set()
        freed.wait(WATCHDOG_SECONDS)

    def watched(obj):
        manifest = Manifest(obj)
        seen.append(weakref.ref(manifest))
        return manifest

    informer = new_informer()
    informer.set_transform(watched)
    registration = informer.add_event_handler(Recorder(journal, before=block))
    informer.start()
    assert server.wait_for_watchers(1)
    server.create("a")
    for _ in range(5):
        server.update("a")
    server.delete("a")
    assert called.wait(WATCHDOG_SECONDS)
    assert eventually(lambda: len(seen) == 7 and not informer.get_store().list())
    informer.stop(0.0)
    freed.set()
    assert informer.stop(WATCHDOG_SECONDS)
    gc.collect()
    assert [ref() for ref in seen] == [None] * 7
    assert not registration.has_synced() or informer.has_synced()


def test_an_informer_that_has_ended_can_be_collected(server, journal):
    informer = SharedIndexInformer(server, description="pods")
    registration = informer.add_event_handler(Recorder(journal))
    server.create("a")
    with informer:
        assert eventually(registration.has_synced)
    gone = weakref.ref(informer)
    del informer, registration
    gc.collect()
    assert gone() is None


# Waiting for the cache.


def test_waiting_ends_when_the_cache_has_synced(server):
    informer = SharedIndexInformer(server)
    server.create("a")
    with informer:
        assert informer.wait_for_cache_sync(WATCHDOG_SECONDS)
        assert informer.wait_for_cache_sync(0)


def test_waiting_ends_with_the_informer(server):
    may_list = threading.Event()
    server.before_request = lambda _: may_list.wait(WATCHDOG_SECONDS)
    informer = SharedIndexInformer(server)
    informer.start()
    waiting = in_thread(informer.wait_for_cache_sync)
    assert not informer.stop(0.0)
    assert waiting.result(WATCHDOG_SECONDS) is False
    may_list.set()
    assert informer.stop(WATCHDOG_SECONDS)


def test_waiting_ends_with_the_time(new_informer, clock):
    informer = new_informer()
    waiting = in_thread(informer.wait_for_cache_sync, 1.0)
    assert clock.wait_for_waiters(1)
    assert clock.waiting() == (0.1,)
    clock.step(0.5)
    assert clock.wait_for_waiters(1)
    assert not waiting.done()
    clock.step(0.5)
    assert waiting.result(WATCHDOG_SECONDS) is False
    assert not informer.wait_for_cache_sync(0)


def test_waiting_asks_all_at_once():
    answers = iter([(True, False), (False, True), (True, True)])
    current = []

    def first():
        current[:] = next(answers)
        return current[0]

    clock = FakeClock()
    waiting = in_thread(lambda: wait_for_cache_sync(StopSignal(), first, lambda: current[1], clock=clock))
    for _ in range(2):
        assert clock.wait_for_waiters(1)
        clock.step(0.1)
    assert waiting.result(WATCHDOG_SECONDS) is True
