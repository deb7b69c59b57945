"""What handlers are told, in which order, and how they come and go."""

from __future__ import annotations

import logging
import random
import threading
from typing import Any

import pytest

from kcache import meta_namespace_key_func
from kcache.informers import DELETED, FilteringResourceEventHandler, ResourceEventHandlerFuncs, WatchEvent
from kcache.queues import Delta, DeltaFIFO
from kcache_conformance.informers.fake_server import FakeServer
from stateful_tests.material.informer_support import (
    WATCHDOG_SECONDS,
    Recorder,
    ScriptedServer,
    eventually,
    in_thread,
    manifest,
)

# What an informer tells.


def test_a_filter_in_an_informer(server, new_informer, journal):
    informer = new_informer()
    server.create("a", labels={"app": "web"})
    server.create("b")

    def is_web(obj):
        return obj["metadata"].get("labels") == {"app": "web"}

    informer.add_event_handler(FilteringResourceEventHandler(is_web, Recorder(journal)))
    with informer:
        journal.wait_for("h.OnAdd(uid-1@2, initial=true)")
        server.update("b", labels={"app": "web"})
        server.update("a", labels={})
        server.update("b", replicas=2)
        server.delete("b")
        journal.wait_for("h.OnDelete(uid-2@7)")
    assert journal.lines[1:] == [
        "h.OnAdd(uid-2@4, initial=false)",
        "h.OnDelete(uid-1@2)",
        "h.OnUpdate(uid-2@4 -> uid-2@6)",
        "h.OnDelete(uid-2@7)",
    ]


def test_what_happens_is_told_in_order(server, new_informer, new_queue, journal):
    informer = new_informer(new_queue=new_queue)
    server.create("a")
    server.create("b")
    informer.add_event_handler(Recorder(journal))
    with informer:
        journal.wait_for("h.OnAdd(uid-2@3, initial=true)")
        server.update("a")
        journal.wait_for("h.OnUpdate(uid-1@2 -> uid-1@4)")
        server.delete("a")
        journal.wait_for("h.OnDelete(uid-1@5)")
        server.create("a")
        journal.wait_for("h.OnAdd(uid-3@6, initial=false)")
    assert sorted(journal.lines[:2]) == ["h.OnAdd(uid-1@2, initial=true)", "h.OnAdd(uid-2@3, initial=true)"]
    assert len(journal.lines) == 5


def test_the_store_shows_a_change_before_its_handlers_are_told(server, new_informer, new_queue):
    informer = new_informer(new_queue=new_queue)
    store = informer.get_indexer()
    late: list[str] = []
    told = threading.Event()

    def check(*objects: Any) -> None:
        stored = store.get_by_key("default/a")
        if stored is None or int(stored["metadata"]["resourceVersion"]) < int(
            objects[-1]["metadata"]["resourceVersion"]
        ):
            late.append(f"{objects} {stored}")
        if objects[-1]["metadata"]["resourceVersion"] == "22":
            told.set()

    informer.add_event_handler(ResourceEventHandlerFuncs(add_func=check, update_func=check))
    server.create("a")
    with informer:
        for _ in range(20):
            server.update("a")
        assert told.wait(WATCHDOG_SECONDS)
    assert late == []


def test_the_deletion_of_an_unknown_object_depends_on_the_queue(server, new_informer, new_queue, journal):
    informer = new_informer(new_queue=new_queue)
    informer.add_event_handler(Recorder(journal))
    with informer:
        assert server.wait_for_watchers(1)
        server.inject(WatchEvent(DELETED, manifest("default/unknown", "u", 1)))
        server.create("a")
        journal.wait_for("h.OnAdd(uid-1@2, initial=false)")
    told = ["h.OnDelete(u@1)"] if new_queue.__name__ == "in_order_queue" else []
    assert journal.lines[:-1] == told


def test_an_object_that_went_unseen_comes_as_a_tombstone(journal, new_informer, new_queue, clock):
    scripted = ScriptedServer(journal)
    scripted.will_list(10, manifest("a/x", "u1", 1), manifest("a/y", "u2", 2))
    scripted.will_list(20, manifest("a/y", "u2", 2))
    informer = new_informer(lister_watcher=scripted, new_queue=new_queue)
    informer.add_event_handler(Recorder(journal))
    with informer:
        watch = scripted.next_watch()
        journal.wait_for("h.OnAdd(u2@2, initial=true)")
        watch.gone()
        assert clock.wait_for_waiters(1)
        clock.step(2.0)
        journal.wait_for("h.OnDelete(Tombstone{a/x u1@1})")
        journal.wait_for("h.OnUpdate(u2@2 -> u2@2)")
        assert informer.get_store().list_keys() == ["a/y"]


def test_of_objects_with_one_key_in_a_list_the_last_one_counts(journal, new_informer, new_queue):
    scripted = ScriptedServer(journal)
    scripted.will_list(10, manifest("a/x", "u1", 1), manifest("a/y", "u2", 2), manifest("a/x", "u3", 3))
    informer = new_informer(lister_watcher=scripted, new_queue=new_queue)
    registration = informer.add_event_handler(Recorder(journal))
    with informer:
        scripted.next_watch()
        assert eventually(registration.has_synced)
        assert informer.get_store().get_by_key("a/x")["metadata"]["uid"] == "u3"
        assert sorted(journal.of("h"))[-1] == "OnAdd(u3@3, initial=true)" or "OnUpdate(u1@1 -> u3@3)" in journal.of("h")


# Handlers that come and go.


def test_a_late_handler_is_told_of_everything_that_is_there(server, new_informer, new_queue, journal):
    informer = new_informer(new_queue=new_queue)
    server.create("a")
    with informer:
        assert eventually(informer.has_synced)
        server.create("b")
        assert eventually(lambda: len(informer.get_store().list_keys()) == 2)
        late = informer.add_event_handler(Recorder(journal, "late"))
        assert eventually(late.has_synced)
        assert sorted(journal.of("late")) == ["OnAdd(uid-1@2, initial=true)", "OnAdd(uid-2@3, initial=true)"]
        server.update("a")
        journal.wait_for("late.OnUpdate(uid-1@2 -> uid-1@4)")


class Follower:
    """A handler that keeps the objects it was told of, and notes what contradicts them."""

    def __init__(self):
        self.objects: dict[str, str] = {}
        self.contradictions: list[str] = []
        self.calls = 0

    def on_add(self, obj, is_in_initial_list):
        self._go("add", None, obj)

    def on_update(self, old, new):
        self._go("update", old, new)

    def on_delete(self, obj):
        self.calls += 1
        if self.objects.pop(obj["metadata"]["name"], None) is None:
            self.contradictions.append(f"delete of {obj}")

    def _go(self, verb, old, new):
        self.calls += 1
        name, version = new["metadata"]["name"], new["metadata"]["resourceVersion"]
        known = self.objects.get(name)
        if known != (None if old is None else old["metadata"]["resourceVersion"]):
            self.contradictions.append(f"{verb} to {version} of {name}, which was {known}")
        self.objects[name] = version


def change_at_random(server: FakeServer, chooser: random.Random, count: int) -> None:
    names = [f"p{number}" for number in range(8)]
    for _ in range(count):
        name = chooser.choice(names)
        if f"default/{name}" not in server.snapshot():
            server.create(name)
        elif chooser.random() < 0.3:
            server.delete(name)
        else:
            server.update(name)


def test_handlers_that_come_and_go_under_load_miss_nothing_and_see_nothing_twice(server, new_informer, new_queue):
    informer = new_informer(new_queue=new_queue)
    chooser = random.Random(7)
    kept: list[Follower] = []
    removed: list[tuple[Follower, int]] = []
    with informer:
        writing = in_thread(change_at_random, server, random.Random(1), 5000)
        while not writing.done() or min(len(kept), len(removed)) < 2:
            follower = Follower()
            registration = informer.add_event_handler(follower)
            if chooser.random() < 0.5:
                kept.append(follower)
            else:
                eventually(registration.has_synced)
                informer.remove_event_handler(registration)
                removed.append((follower, follower.calls))
        writing.result(WATCHDOG_SECONDS)
        last = Follower()
        informer.add_event_handler(last)
        final = {obj["metadata"]["name"]: obj["metadata"]["resourceVersion"] for obj in server.snapshot().values()}
        assert eventually(lambda: all(follower.objects == final for follower in (*kept, last)))
    assert [follower.contradictions for follower in (*kept, last, *(follower for follower, _ in removed))] == [
        [] for _ in range(len(kept) + 1 + len(removed))
    ]
    # A call that was on its way may still have come.
    assert all(follower.calls <= calls + 1 for follower, calls in removed)


def test_a_removed_handler_is_told_nothing_more(server, new_informer, journal):
    informer = new_informer()
    first = informer.add_event_handler(Recorder(journal, "first"))
    informer.add_event_handler(Recorder(journal, "second"))
    with informer:
        assert server.wait_for_watchers(1)
        server.create("a")
        for name in ("first", "second"):
            journal.wait_for(f"{name}.OnAdd(uid-1@2, initial=false)")
        informer.remove_event_handler(first)
        informer.remove_event_handler(first)
        server.update("a")
        journal.wait_for("second.OnUpdate(uid-1@2 -> uid-1@3)")
    informer.remove_event_handler(first)
    assert journal.of("first") == ["OnAdd(uid-1@2, initial=false)"]


def test_a_handler_removed_before_the_start_is_told_nothing(server, new_informer, journal):
    informer = new_informer()
    first = informer.add_event_handler(Recorder(journal, "first"))
    second = informer.add_event_handler(Recorder(journal, "second"))
    informer.remove_event_handler(first)
    server.create("a")
    with informer:
        assert eventually(second.has_synced)
    assert journal.lines == ["second.OnAdd(uid-1@2, initial=true)"]
    assert not first.has_synced() or journal.of("first") == []


class WithoutKeys(DeltaFIFO):
    """A queue that keeps keys to itself."""

    def pop(self, process, /):
        return super().pop(lambda deltas, initial: process([Delta(each.type, each.object) for each in deltas], initial))


@pytest.mark.parametrize(("queue", "questions"), [(DeltaFIFO, 1), (WithoutKeys, 2)])
def test_the_key_function_is_asked_once_for_each_change(server, new_informer, journal, queue, questions):
    asked = []

    def key_func(obj):
        asked.append(obj["metadata"]["resourceVersion"])
        return meta_namespace_key_func(obj)

    def new_queue(key_func, known_objects, transformer):
        return queue(key_func, known_objects=known_objects, transformer=transformer)

    informer = new_informer(new_queue=new_queue, key_func=key_func)
    informer.add_event_handler(Recorder(journal))
    with informer:
        assert server.wait_for_watchers(1)
        server.create("a")
        server.update("a")
        server.delete("a")
        journal.wait_for("h.OnDelete(uid-1@4)")
    assert [asked.count(version) for version in ("2", "3", "4")] == [questions] * 3


class HeldBack(DeltaFIFO):
    """A queue whose consumer waits until it may go on, so that changes gather."""

    released: threading.Event

    def pop(self, process, /):
        self.released.wait(WATCHDOG_SECONDS)
        return super().pop(process)


@pytest.mark.parametrize("adds_at", [2, 3])
def test_a_handler_that_an_index_function_adds_is_told_of_nothing_twice(server, new_informer, journal, adds_at):
    """Some changes that are applied together were told of when it comes, and some were not."""
    made, late = [], []

    def held_back(key_func, known_objects, transformer):
        made.append(HeldBack(key_func, known_objects=known_objects, transformer=transformer))
        made[0].released = threading.Event()
        return made[0]

    def index(obj):
        if obj["metadata"]["resourceVersion"] == str(adds_at):
            late.append(informer.add_event_handler(Recorder(journal, "late")))
        return []

    informer = new_informer(new_queue=held_back, indexers={"adds": index})
    informer.add_event_handler(Recorder(journal, "early"))
    with informer:
        assert server.wait_for_watchers(1)
        server.create("a")
        server.update("a")
        server.update("a")
        assert eventually(lambda: informer.last_sync_resource_version() == "4")
        made[0].released.set()
        for name in ("early", "late"):
            journal.wait_for(f"{name}.OnUpdate(uid-1@3 -> uid-1@4)")
    updates = ["OnUpdate(uid-1@2 -> uid-1@3)", "OnUpdate(uid-1@3 -> uid-1@4)"]
    assert journal.of("early") == ["OnAdd(uid-1@2, initial=false)", *updates]
    assert journal.of("late") == [f"OnAdd(uid-1@2, initial={'false' if adds_at == 2 else 'true'})", *updates]


def test_a_handler_may_remove_itself_and_add_others(server, new_informer, journal):
    informer = new_informer()
    registrations = {}

    def replace(_: Any) -> None:
        informer.remove_event_handler(registrations["first"])
        informer.add_event_handler(Recorder(journal, "second"))

    server.create("a")
    server.create("b")
    registrations["first"] = informer.add_event_handler(ResourceEventHandlerFuncs(add_func=replace))
    with informer:
        journal.wait_until(lambda lines: len(lines) == 2)
        server.update("a")
        journal.wait_for("second.OnUpdate(uid-1@2 -> uid-1@4)")
    assert len(journal.lines) == 3


def test_the_same_handler_may_be_added_twice(server, new_informer, journal):
    informer = new_informer()
    handler = Recorder(journal)
    first, second = informer.add_event_handler(handler), informer.add_event_handler(handler)
    assert first != second
    server.create("a")
    with informer:
        journal.wait_for("h.OnAdd(uid-1@2, initial=true)", 2)
        informer.remove_event_handler(first)
        server.update("a")
        journal.wait_for("h.OnUpdate(uid-1@2 -> uid-1@3)")
    assert len(journal.lines) == 3


# Handlers that misbehave.


def test_a_blocked_handler_delays_no_other(server, new_informer, new_queue, journal):
    informer = new_informer(new_queue=new_queue)
    freed = threading.Event()
    informer.add_event_handler(Recorder(journal, "blocked", before=lambda _: freed.wait(WATCHDOG_SECONDS)))
    informer.add_event_handler(Recorder(journal, "free"))
    with informer:
        assert eventually(informer.has_synced)
        for number in range(2000):
            server.create(f"p{number}")
        journal.wait_for("free.OnAdd(uid-2000@2001, initial=false)")
        assert journal.of("blocked") == []
        freed.set()
        journal.wait_for("blocked.OnAdd(uid-2000@2001, initial=false)")
        assert journal.of("blocked") == journal.of("free")


def test_what_a_handler_raises_is_logged_and_the_next_call_follows(server, new_informer, journal, caplog):
    def fail(line: str) -> None:
        if "uid-1" in line:
            raise ValueError("not this one")

    informer = new_informer()
    registration = informer.add_event_handler(Recorder(journal, "failing", before=fail))
    informer.add_event_handler(Recorder(journal, "other"))
    server.create("a")
    server.create("b")
    with caplog.at_level(logging.ERROR, "kcache.informers"), informer:
        journal.wait_for("failing.OnAdd(uid-2@3, initial=true)")
        journal.wait_for("other.OnAdd(uid-2@3, initial=true)")
        assert eventually(registration.has_synced)
    (record,) = caplog.records
    assert "{failing}" in record.getMessage()
    assert "uid-1" in record.getMessage()
    assert isinstance(record.exc_info[1], ValueError)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_handler_that_ends_its_thread_is_told_nothing_more_and_keeps_nothing(server, new_informer, journal):
    def leave(_: str) -> None:
        raise SystemExit

    informer = new_informer()
    registration = informer.add_event_handler(Recorder(journal, "leaving", before=leave))
    informer.add_event_handler(Recorder(journal, "other"))
    server.create("a")
    with informer:
        assert eventually(lambda: registration.listener._is_stopped)
        server.create("b")
        journal.wait_for("other.OnAdd(uid-2@3, initial=false)")
        assert len(registration.listener._buffer) == 0


# Who has seen the initial list.


def test_a_cache_may_have_synced_before_its_handlers(server, new_informer, new_queue, journal):
    """kubernetes#113763."""
    freed = threading.Event()
    informer = new_informer(new_queue=new_queue)
    quick = informer.add_event_handler(Recorder(journal, "quick"))
    slow = informer.add_event_handler(Recorder(journal, "slow", before=lambda _: freed.wait(WATCHDOG_SECONDS)))
    for name in "abc":
        server.create(name)
    assert not informer.has_synced()
    assert not quick.has_synced()
    with informer:
        assert eventually(quick.has_synced)
        assert informer.has_synced()
        assert len(journal.of("quick")) == 3
        assert not slow.has_synced()
        late = informer.add_event_handler(Recorder(journal, "late", before=lambda _: freed.wait(WATCHDOG_SECONDS)))
        assert not late.has_synced()
        freed.set()
        assert eventually(slow.has_synced)
        assert eventually(late.has_synced)
        assert len(journal.of("slow")) == len(journal.of("late")) == 3


def test_handlers_have_synced_with_an_empty_list(server, new_informer, new_queue, journal):
    informer = new_informer(new_queue=new_queue)
    registration = informer.add_event_handler(Recorder(journal))
    with informer:
        assert eventually(registration.has_synced)
        assert journal.lines == []


def test_a_handler_added_before_the_list_arrives_waits_for_it(server, new_informer, new_queue, journal):
    may_list = threading.Event()
    server.before_request = lambda _: may_list.wait(WATCHDOG_SECONDS)
    server.create("a")
    informer = new_informer(new_queue=new_queue)
    with informer:
        assert server.wait_for_requests(1)
        registration = informer.add_event_handler(Recorder(journal))
        assert not registration.has_synced()
        may_list.set()
        assert eventually(registration.has_synced)
        assert journal.lines == ["h.OnAdd(uid-1@2, initial=true)"]
