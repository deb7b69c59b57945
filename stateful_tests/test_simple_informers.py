"""A store and a handler without sharing, and the controller that both kinds of informers have."""

from __future__ import annotations

import logging
import threading

import pytest

from kcache import FIFOClosedError, IndexFuncError, KcacheError
from kcache.errors import InformerStartedError
from kcache.informers import Config, Controller, StopSignal, in_order_queue, new_indexer_informer, new_informer
from kcache.queues import FIFO
from stateful_tests.material.informer_support import WATCHDOG_SECONDS, Recorder, eventually, in_thread, threads_since


@pytest.fixture
def run(no_thread_left):
    """Runs controllers in threads of their own until the test ends."""
    stop = StopSignal()
    running = []

    def start(controller):
        running.append(in_thread(controller.run, stop))
        return running[-1]

    yield start
    stop.set()
    for future in running:
        future.exception(WATCHDOG_SECONDS)


def test_the_store_follows_and_the_handler_is_told(server, clock, journal, run):
    server.create("a")
    store, controller = new_informer(server, Recorder(journal), clock=clock)
    assert not controller.has_synced()
    assert controller.last_sync_resource_version() == ""
    run(controller)
    journal.wait_for("h.OnAdd(uid-1@2, initial=true)")
    assert eventually(controller.has_synced)
    server.update("a")
    server.delete("a")
    journal.wait_for("h.OnDelete(uid-1@4)")
    assert store.list() == []
    assert eventually(lambda: controller.last_sync_resource_version() == "4")
    assert journal.of("h")[1] == "OnUpdate(uid-1@2 -> uid-1@3)"


def test_indices_keys_and_transformers(server, clock, journal, run, new_queue):
    server.create("a", kind="x")
    indexer, controller = new_indexer_informer(
        server,
        Recorder(journal),
        {"kind": lambda obj: [obj["spec"]["kind"]]},
        key_func=lambda obj: obj["metadata"]["name"],
        transformer=lambda obj: obj | {"spec": {"kind": obj["spec"]["kind"].upper()}},
        clock=clock,
        new_queue=new_queue,
    )
    run(controller)
    journal.wait_for("h.OnAdd(uid-1@2, initial=true)")
    assert indexer.index_keys("kind", "X") == ["a"]
    assert indexer.get_by_key("a")["spec"] == {"kind": "X"}


def test_everything_is_shown_again(server, clock, journal, run, new_queue):
    server.create("a")
    _, controller = new_indexer_informer(
        server, Recorder(journal), resync_seconds=5.0, clock=clock, new_queue=new_queue
    )
    run(controller)
    journal.wait_for("h.OnAdd(uid-1@2, initial=true)")
    for count in (1, 2):
        assert clock.wait_for_waiters(1)
        clock.step(5.0)
        journal.wait_for("h.OnUpdate(uid-1@2 -> uid-1@2)", count)


def test_what_the_handler_raises_is_logged(server, clock, journal, run, caplog, new_queue):
    def fail_once(line):
        if not journal.lines:
            journal.write("failed")
            raise ValueError("not this one")

    _, controller = new_indexer_informer(server, Recorder(journal, before=fail_once), clock=clock, new_queue=new_queue)
    server.create("a")
    server.create("b")
    with caplog.at_level(logging.ERROR, "kcache.informers"):
        run(controller)
        journal.wait_until(lambda lines: len(lines) == 2)
    assert "the event handler {h} failed" in caplog.text


def test_the_handler_may_ask_and_stop(server, clock, journal, no_thread_left, new_queue):
    stop = StopSignal()
    seen = []

    def ask(line):
        seen.append((controller.has_synced(), store.list_keys()))
        stop.set()

    store, controller = new_indexer_informer(server, Recorder(journal, before=ask), clock=clock, new_queue=new_queue)
    server.create("a")
    in_thread(controller.run, stop).result(WATCHDOG_SECONDS)
    assert len(seen) == 1
    assert seen[0][1] == ["default/a"]


def test_an_index_function_that_raises_ends_the_controller(server, clock, journal, new_queue):
    def fail(obj):
        raise ValueError("not this one")

    server.create("a")
    before = threading.enumerate()
    _, controller = new_indexer_informer(server, Recorder(journal), {"fails": fail}, clock=clock, new_queue=new_queue)
    stop = StopSignal()
    running = in_thread(controller.run, stop)
    assert isinstance(running.exception(WATCHDOG_SECONDS), IndexFuncError)
    assert eventually(lambda: threads_since(before) == [])
    assert not stop.is_set()
    assert stop._callbacks == []


def test_a_controller_runs_once(server, clock, journal, run):
    _, controller = new_informer(server, Recorder(journal), clock=clock)
    running = run(controller)
    assert eventually(controller.has_synced)
    with pytest.raises(InformerStartedError):
        controller.run(StopSignal())
    assert not running.done()
    assert controller.has_synced()


def test_a_signal_that_is_set_ends_it_at_once(server, clock, journal):
    stop = StopSignal()
    stop.set()
    _, controller = new_informer(server, Recorder(journal), clock=clock)
    in_thread(controller.run, stop).result(WATCHDOG_SECONDS)
    assert journal.lines == []


# A controller of one's own.


def test_a_controller_takes_any_queue(server, clock, run):
    """A FIFO has no deltas, no bookmarks and no batches."""
    server.create("a")
    queue = FIFO()
    popped = []
    controller = Controller(
        Config(
            queue=queue,
            lister_watcher=server,
            process=lambda obj, initial: popped.append((obj["metadata"]["name"], initial)),
            clock=clock,
        )
    )
    run(controller)
    assert eventually(lambda: popped == [("a", True)])
    server.create("b")
    assert eventually(lambda: popped == [("a", True), ("b", False)])
    server.send_bookmark()
    server.create("c")
    assert eventually(lambda: len(popped) == 3)


def test_batches_are_given_to_who_asks_for_them(server, clock, run):
    may_go_on = threading.Event()
    singles, batches = [], []

    def process(deltas, initial):
        may_go_on.wait(WATCHDOG_SECONDS)
        singles.append(len(deltas))

    controller = Controller(
        Config(
            queue=in_order_queue(lambda obj: obj["metadata"]["name"], server, None),
            lister_watcher=server,
            process=process,
            process_batch=lambda deltas, initial: batches.append(len(deltas)),
            clock=clock,
        )
    )
    run(controller)
    assert server.wait_for_watchers(1)
    for number in range(10):
        server.create(f"p{number}")
    assert server.wait_until_caught_up()
    may_go_on.set()
    assert eventually(lambda: sum(singles) + sum(batches) == 11)
    assert singles == [1]
    assert batches == [10]


def test_what_processing_raises_ends_the_controller(server, clock):
    def fail(deltas, initial):
        raise KcacheError("enough")

    queue = in_order_queue(lambda obj: obj["metadata"]["name"], server, None)
    controller = Controller(Config(queue=queue, lister_watcher=server, process=fail, clock=clock))
    running = in_thread(controller.run, StopSignal())
    assert str(running.exception(WATCHDOG_SECONDS)) == "enough"
    assert server.wait_for_watchers(0)


def test_a_queue_that_somebody_else_closes_ends_the_controller(server, clock):
    queue = in_order_queue(lambda obj: obj["metadata"]["name"], server, None)
    controller = Controller(
        Config(queue=queue, lister_watcher=server, process=lambda deltas, initial: None, clock=clock)
    )
    running = in_thread(controller.run, StopSignal())
    assert server.wait_for_watchers(1)
    queue.close()
    assert isinstance(running.exception(WATCHDOG_SECONDS), FIFOClosedError)
