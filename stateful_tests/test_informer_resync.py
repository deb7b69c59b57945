"""Handlers are shown all objects again, each as often as it asked for, and no more often than the informer looks."""

from __future__ import annotations

import logging

import pytest

from kcache import KcacheError
from kcache.informers import ResourceEventHandlerFuncs, in_order_queue
from stateful_tests.material.informer_support import WATCHDOG_SECONDS, Recorder, ScriptedServer, eventually, manifest

SAME = "OnUpdate(uid-1@2 -> uid-1@2)"


class Resyncs:
    """An informer with an object and handlers, whose clock is moved step by step."""

    def __init__(self, server, informer, clock, journal):
        self.server = server
        self.informer = informer
        self.clock = clock
        self.journal = journal
        self.names = []
        server.create("a")

    def add(self, name, **options):
        self.informer.add_event_handler(Recorder(self.journal, name), **options)
        self.names.append(name)

    def start(self):
        self.informer.start()
        assert eventually(self.informer.has_synced)

    def tick(self, seconds):
        """Move the clock; all that this causes has been told when this returns."""
        assert self.clock.wait_for_waiters(1, WATCHDOG_SECONDS)
        self.clock.step(seconds)
        assert self.clock.wait_for_waiters(1, WATCHDOG_SECONDS)  # the round is over
        self.fence()

    def fence(self):
        """Let an object come and go behind whatever is under way."""
        uid = self.server.create("fence")["metadata"]["uid"]
        version = self.server.delete("fence")["metadata"]["resourceVersion"]
        for name in self.names:
            self.journal.wait_for(f"{name}.OnDelete({uid}@{version})")

    def counts(self):
        return [self.journal.of(name).count(SAME) for name in self.names]


@pytest.fixture
def resyncs(server, new_informer, new_queue, clock, journal):
    def make(**options):
        return Resyncs(server, new_informer(new_queue=new_queue, **options), clock, journal)

    return make


def test_each_handler_has_its_own_period(resyncs):
    run = resyncs(resync_seconds=10.0)
    run.add("default")
    run.add("often", resync_seconds=2.0)
    run.add("seldom", resync_seconds=5.0)
    run.add("never", resync_seconds=0)
    run.start()
    counts = []
    for _ in range(5):
        run.tick(2.0)
        counts.append(run.counts())
    # Every two seconds somebody looks: five seconds have passed at the third look.
    assert counts == [[0, 1, 0, 0], [0, 2, 0, 0], [0, 3, 1, 0], [0, 4, 1, 0], [1, 5, 1, 0]]


def test_less_than_a_second_is_a_second(resyncs):
    run = resyncs(resync_seconds=5.0)
    run.add("hasty", resync_seconds=0.01)
    run.start()
    assert run.clock.wait_for_waiters(1, WATCHDOG_SECONDS)
    assert run.clock.waiting() == (1.0,)
    run.tick(1.0)
    assert run.counts() == [1]


def test_after_the_start_nobody_is_resynced_more_often_than_the_informer_looks(resyncs):
    run = resyncs(resync_seconds=4.0)
    run.add("default")
    run.start()
    run.add("hasty", resync_seconds=1.0)
    run.add("slow", resync_seconds=6.0)
    for expected in ([1, 1, 0], [2, 2, 1]):
        run.tick(4.0)
        assert run.counts() == expected


def test_without_a_period_of_the_informer_nobody_is_resynced(resyncs):
    run = resyncs()
    run.add("default")
    run.add("hasty", resync_seconds=1.0)
    run.start()
    run.add("late", resync_seconds=1.0)
    run.clock.step(1000.0)
    run.fence()
    assert run.clock.waiting() == ()
    assert run.counts() == [0, 0, 0]


def test_a_handler_before_the_start_makes_the_informer_look_more_often(resyncs):
    run = resyncs(resync_seconds=60.0)
    run.add("default")
    run.add("often", resync_seconds=3.0)
    run.start()
    assert run.clock.wait_for_waiters(1, WATCHDOG_SECONDS)
    assert run.clock.waiting() == (3.0,)


def test_a_removed_handler_is_not_resynced(resyncs):
    run = resyncs(resync_seconds=1.0)
    removed = run.informer.add_event_handler(Recorder(run.journal, "removed"))
    run.add("kept")
    run.start()
    run.informer.remove_event_handler(removed)
    run.tick(1.0)
    assert run.counts() == [1]
    assert SAME not in run.journal.of("removed")


def test_a_changed_object_is_told_to_those_who_are_not_due(resyncs):
    run = resyncs(resync_seconds=1.0)
    run.add("never", resync_seconds=0)
    run.start()
    run.tick(1.0)
    run.server.update("a")
    run.fence()
    assert run.counts() == [0]
    updates = [line for line in run.journal.of("never") if line.startswith("OnUpdate")]
    assert updates == ["OnUpdate(uid-1@2 -> uid-1@5)"]


def test_a_relist_of_the_same_version_is_told_to_all_before_the_first_look_and_then_to_those_who_are_due(
    journal, new_informer, new_queue, clock
):
    scripted = ScriptedServer(journal)
    scripted.will_list(10, manifest("a/x", "u1", 1))
    informer = new_informer(lister_watcher=scripted, new_queue=new_queue, resync_seconds=5.0)
    informer.add_event_handler(Recorder(journal, "due"))
    informer.add_event_handler(Recorder(journal, "never"), resync_seconds=0)
    same = "OnUpdate(u1@1 -> u1@1)"

    def relist(watch):
        watch.gone()
        assert eventually(lambda: len(clock.waiting()) == 1 and clock.waiting() != (5.0,))  # in back-off
        clock.step(4.0)
        return scripted.next_watch()

    with informer:
        watch = scripted.next_watch()
        journal.wait_for("due.OnAdd(u1@1, initial=true)")
        assert clock.wait_for_waiters(1)
        watch = relist(watch)
        journal.wait_for(f"due.{same}")
        journal.wait_for(f"never.{same}")
        assert eventually(lambda: clock.waiting() == (5.0,))
        clock.step(5.0)
        journal.wait_for(f"due.{same}", 2)
        watch = relist(watch)
        watch.added(manifest("a/fence", "u2", 11))
        for name in ("due", "never"):
            journal.wait_for(f"{name}.OnAdd(u2@11, initial=false)")
    assert [journal.of(name).count(same) for name in ("due", "never")] == [3, 1]


def test_of_changes_that_come_together_those_who_are_not_due_are_told_of_real_ones_in_order(
    journal, new_informer, clock
):
    scripted = ScriptedServer(journal)
    scripted.will_list(10, *(manifest(f"a/{name}", name, 1) for name in "uvwx"))
    scripted.will_list(20, *(manifest(f"a/{name}", name, 2 if name in "vx" else 1) for name in "uvwx"))
    informer = new_informer(lister_watcher=scripted, resync_seconds=5.0)
    informer.add_event_handler(Recorder(journal, "due"))
    informer.add_event_handler(Recorder(journal, "never"), resync_seconds=0)
    with informer:
        watch = scripted.next_watch()
        assert clock.wait_for_waiters(1)
        clock.step(5.0)
        journal.wait_for("due.OnUpdate(x@1 -> x@1)")
        watch.gone()
        assert eventually(lambda: len(clock.waiting()) == 1 and clock.waiting() != (5.0,))  # in back-off
        clock.step(4.0)
        for name in ("due", "never"):
            journal.wait_for(f"{name}.OnUpdate(x@1 -> x@2)")
    changes = ["OnUpdate(v@1 -> v@2)", "OnUpdate(x@1 -> x@2)"]
    assert journal.of("never")[4:] == changes
    assert journal.of("due")[8:] == ["OnUpdate(u@1 -> u@1)", changes[0], "OnUpdate(w@1 -> w@1)", changes[1]]


def test_objects_without_a_version_are_shown_to_all(journal, new_informer, new_queue, clock):
    scripted = ScriptedServer(journal)
    scripted.will_list(10, "a/x")
    informer = new_informer(lister_watcher=scripted, new_queue=new_queue, resync_seconds=1.0, key_func=str)
    seen = []
    for seconds in (None, 0):
        informer.add_event_handler(ResourceEventHandlerFuncs(update_func=lambda *pair: seen.append(pair)), seconds)
    with informer:
        scripted.next_watch()
        assert eventually(informer.has_synced)
        assert clock.wait_for_waiters(1)
        clock.step(1.0)
        assert eventually(lambda: seen == [("a/x", "a/x")] * 2)


def test_what_a_resync_raises_does_not_end_resyncs(server, new_informer, clock, journal, caplog):
    """Only a queue of somebody's own can fail."""

    def failing_queue(*args):
        queue = in_order_queue(*args)
        resync, failures = queue.resync, [KcacheError("not now")]

        def fail_once():
            if failures:
                raise failures.pop()
            resync()

        queue.resync = fail_once
        return queue

    run = Resyncs(server, new_informer(new_queue=failing_queue, resync_seconds=1.0), clock, journal)
    run.add("h")
    run.start()
    with caplog.at_level(logging.ERROR, "kcache.informers"):
        run.tick(1.0)
        assert run.counts() == [0]
        run.tick(1.0)
    assert run.counts() == [1]
    assert "resync failed" in caplog.text
