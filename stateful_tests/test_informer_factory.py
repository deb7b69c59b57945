"""One informer per type, started and stopped together."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace

import pytest

from kcache import IndexFuncError
from kcache.errors import InformerStartedError, InformerStoppedError
from kcache.informers import FakeClock, ListOptions, SharedIndexInformer, SharedInformerFactory
from kcache_conformance.informers.fake_server import FakeServer
from stateful_tests.material.informer_support import WATCHDOG_SECONDS, Recorder, eventually, in_thread, threads_since


@pytest.fixture
def claims(no_thread_left):
    """A server of another type."""
    other = FakeServer("PersistentVolumeClaim")
    yield other
    other.close()


def synced(*informers):
    return eventually(lambda: all(informer.has_synced() for informer in informers))


def failing(obj):
    """An index function."""
    raise ValueError("not this one")


def test_each_type_has_one_informer(server, claims):
    factory = SharedInformerFactory()
    pods = factory.for_resource("Pod", server)
    assert factory.for_resource("Pod", claims, {"x": lambda obj: []}) is pods
    assert factory.informer_for("Pod", lambda seconds: pytest.fail("made twice")) is pods
    assert factory.for_resource("PersistentVolumeClaim", claims) is not pods
    assert factory.for_resource(dict, claims) is factory.for_resource(dict, server)
    assert pods.get_indexer().get_indexers() == {}
    assert factory.shutdown()


def test_an_informer_may_ask_for_another_one(server, claims):
    factory = SharedInformerFactory()

    def new_pods(seconds):
        assert factory.for_resource("PersistentVolumeClaim", claims) is not None
        return SharedIndexInformer(server, resync_seconds=seconds)

    pods = in_thread(factory.informer_for, "Pod", new_pods).result(WATCHDOG_SECONDS)
    assert factory.for_resource("Pod", server) is pods
    factory.shutdown()


def test_start_starts_what_has_not_been_started(server, claims):
    factory = SharedInformerFactory()
    factory.start()
    pods = factory.for_resource("Pod", server)
    assert factory.wait_for_cache_sync() == {}
    factory.start()
    factory.start()
    assert synced(pods)
    assert factory.wait_for_cache_sync(WATCHDOG_SECONDS) == {"Pod": True}
    late = factory.for_resource("PersistentVolumeClaim", claims)
    assert claims.requests == ()
    factory.start()
    assert synced(late)
    assert factory.wait_for_cache_sync() == {"Pod": True, "PersistentVolumeClaim": True}
    assert len(server.requests) <= 2
    assert factory.shutdown()


def test_waiting_ends_with_the_time(server, claims):
    may_list = threading.Event()
    claims.before_request = lambda _: may_list.wait(WATCHDOG_SECONDS)
    factory = SharedInformerFactory()
    pods = factory.for_resource("Pod", server)
    factory.for_resource("PersistentVolumeClaim", claims)
    factory.start()
    assert synced(pods)
    assert factory.wait_for_cache_sync(0.01) == {"Pod": True, "PersistentVolumeClaim": False}
    may_list.set()
    assert factory.shutdown(WATCHDOG_SECONDS)


def test_waiting_ends_with_the_factory(server):
    lists, may_list = threading.Event(), threading.Event()

    def list_late(_: object) -> None:
        lists.set()
        may_list.wait(WATCHDOG_SECONDS)

    server.before_request = list_late
    factory = SharedInformerFactory()
    factory.for_resource("Pod", server)
    factory.start()
    waiting = in_thread(factory.wait_for_cache_sync)
    assert lists.wait(WATCHDOG_SECONDS)
    assert not factory.shutdown(0.0)
    assert waiting.result(WATCHDOG_SECONDS) == {"Pod": False}
    may_list.set()
    assert factory.shutdown(WATCHDOG_SECONDS)


def test_the_block_starts_and_shuts_down(server, claims):
    before = threading.enumerate()
    factory = SharedInformerFactory()
    pods = factory.for_resource("Pod", server)
    with factory as entered:
        assert entered is factory
        assert synced(pods)
        late = factory.for_resource("PersistentVolumeClaim", claims)
        factory.start()
        assert synced(late)
    assert threads_since(before) == []
    assert pods.is_stopped()
    assert late.is_stopped()


def test_after_the_shutdown_nothing_begins(server, claims):
    factory = SharedInformerFactory()
    pods = factory.for_resource("Pod", server)
    waiting = factory.for_resource("Waiting", server)
    assert factory.shutdown()
    factory.start()
    assert server.requests == ()
    assert factory.for_resource("Pod", server) is pods
    assert not waiting.is_stopped()
    with pytest.raises(InformerStoppedError, match="'Claim' was not created by its factory because it has stopped"):
        factory.for_resource("Claim", claims)
    assert factory.wait_for_cache_sync() == {}


def test_shutdown_from_several_threads_and_again(server, claims):
    before = threading.enumerate()
    factory = SharedInformerFactory()
    informers = factory.for_resource("Pod", server), factory.for_resource("PersistentVolumeClaim", claims)
    factory.start()
    assert synced(*informers)
    ending = [in_thread(factory.shutdown) for _ in range(4)]
    assert [future.result(WATCHDOG_SECONDS) for future in ending] == [True] * 4
    assert factory.shutdown()
    assert eventually(lambda: threads_since(before) == [])


@pytest.mark.parametrize("clock", [FakeClock(), None])
def test_shutdown_waits_no_longer_than_it_may(server, claims, journal, clock):
    freed = threading.Event()
    called = threading.Semaphore(0)

    def block(_):
        called.release()
        freed.wait(WATCHDOG_SECONDS)

    factory = SharedInformerFactory(clock=clock)
    for name, source in (("Pod", server), ("PersistentVolumeClaim", claims)):
        source.create("a")
        factory.for_resource(name, source).add_event_handler(Recorder(journal, before=block))
    factory.start()
    for _ in range(2):
        assert called.acquire(timeout=WATCHDOG_SECONDS)
    assert not in_thread(factory.shutdown, 0.02).result(WATCHDOG_SECONDS)
    freed.set()
    assert factory.shutdown(WATCHDOG_SECONDS)


def test_shutdown_from_a_handler(server, claims, journal):
    factory = SharedInformerFactory()
    pods = factory.for_resource("Pod", server)
    other = factory.for_resource("PersistentVolumeClaim", claims)
    pods.add_event_handler(Recorder(journal, before=lambda _: journal.write(f"shut down: {factory.shutdown()}")))
    factory.start()
    assert synced(pods, other)
    server.create("a")
    journal.wait_for("shut down: False")
    assert factory.shutdown(WATCHDOG_SECONDS)


def test_an_informer_that_failed_stops_no_other_and_is_not_forgotten(server, claims):
    factory = SharedInformerFactory()
    server.create("a")
    pods = factory.for_resource("Pod", server, {"fails": failing})
    other = factory.for_resource("PersistentVolumeClaim", claims)
    factory.start()
    assert synced(other)
    assert eventually(pods.is_stopped)
    assert in_thread(factory.wait_for_cache_sync).result(WATCHDOG_SECONDS) == {
        "Pod": False,
        "PersistentVolumeClaim": True,
    }
    assert not other.is_stopped()
    for _ in range(2):
        with pytest.raises(ExceptionGroup, match="informers have failed") as raised:
            factory.shutdown(WATCHDOG_SECONDS)
        (error,) = raised.value.exceptions
        assert isinstance(error, IndexFuncError)
    assert other.is_stopped()


def test_what_the_block_raises_comes_first(server, caplog):
    server.create("a")
    factory = SharedInformerFactory()
    pods = factory.for_resource("Pod", server, {"fails": failing})

    def fail_after_the_informer():
        with factory:
            assert eventually(pods.is_stopped)
            raise ZeroDivisionError

    with caplog.at_level(logging.ERROR, "kcache.informers"), pytest.raises(ZeroDivisionError):
        fail_after_the_informer()
    assert "informers had failed" in caplog.text


# Options.


def test_what_is_asked_of_the_server_can_be_changed(server):
    server.create("web", labels={"app": "web"})
    server.create("db", labels={"app": "db"})

    def only_web(options: ListOptions) -> ListOptions:
        return replace(options, label_selector="app=web")

    with SharedInformerFactory(tweak_list_options=only_web) as factory:
        pods = factory.for_resource("Pod", server)
        factory.start()
        assert synced(pods)
        assert pods.get_store().list_keys() == ["default/web"]
        assert server.wait_for_requests(2)
    assert [str(request) for request in server.requests] == [
        'LIST rv="0" limit=500 labels="app=web"',
        'WATCH rv="3" bookmarks labels="app=web"',
    ]


def test_each_type_may_have_its_own_resync_period(server):
    periods = []

    def new_informer(seconds):
        periods.append(seconds)
        return SharedIndexInformer(server, resync_seconds=seconds)

    factory = SharedInformerFactory(30.0, custom_resync_seconds={"Pod": 5.0, "Never": 0.0})
    for name in ("Pod", "Never", "Other"):
        factory.informer_for(name, new_informer)
    assert periods == [5.0, 0.0, 30.0]
    factory.shutdown()


def test_resyncs_follow_the_clock_of_the_factory(server, journal):
    clock = FakeClock()
    server.create("a")
    with SharedInformerFactory(10.0, clock=clock) as factory:
        factory.for_resource("Pod", server).add_event_handler(Recorder(journal))
        factory.start()
        assert clock.wait_for_waiters(1)
        clock.step(10.0)
        journal.wait_for("h.OnUpdate(uid-1@2 -> uid-1@2)")


def test_all_objects_are_transformed(server):
    with SharedInformerFactory(transformer=lambda obj: obj | {"spec": "hidden"}) as factory:
        pods = factory.for_resource("Pod", server)
        factory.start()
        server.create("a", secret=1)
        assert eventually(lambda: [obj["spec"] for obj in pods.get_store().list()] == ["hidden"])


def test_an_informer_that_cannot_be_transformed_is_not_taken(server):
    factory = SharedInformerFactory(transformer=lambda obj: obj)
    with SharedIndexInformer(server) as started:
        for _ in range(2):
            with pytest.raises(InformerStartedError):
                factory.informer_for("Pod", lambda seconds: started)
    assert factory.for_resource("Pod", server) is not started
    factory.shutdown()
