"""What given functions raise: an index function ends the informer loudly, a transformer loses an object, no more."""

from __future__ import annotations

import logging

import pytest

from kcache import (
    IndexerConflictError,
    IndexFuncError,
    InvalidObjectError,
    KeyFuncError,
    TransactionError,
    meta_namespace_index_func,
    meta_namespace_key_func,
)
from kcache.informers import ApiError, SharedIndexInformer, StopSignal
from kcache.informers.reflector_errors import ListError, SyncError
from stateful_tests.material.informer_support import (
    WATCHDOG_SECONDS,
    Recorder,
    ScriptedServer,
    eventually,
    in_thread,
    manifest,
)


def failing_for(*uids):
    """An index function."""

    def index(obj):
        if obj["metadata"]["uid"] in uids:
            raise ValueError("not this one")
        return ["ok"]

    return index


# Index functions.


def test_an_index_function_that_raises_ends_run(new_informer, server, new_queue, journal):
    informer = new_informer(new_queue=new_queue, indexers={"fails": failing_for("uid-2")})
    informer.add_event_handler(Recorder(journal))
    running = in_thread(informer.run, StopSignal())
    assert server.wait_for_watchers(1)
    server.create("a")
    server.create("b")
    error = running.exception(WATCHDOG_SECONDS)
    assert isinstance(error, IndexFuncError)
    assert (error.key, error.index_name) == ("default/b", "fails")
    assert informer.is_stopped()
    assert not informer.wait_for_cache_sync(0)
    assert informer.get_store().list_keys() == ["default/a"]
    assert "h.OnAdd(uid-2@3, initial=false)" not in journal.lines
    with pytest.raises(IndexFuncError) as raised:
        informer.stop()
    assert raised.value is error


def test_an_index_function_that_raises_for_the_list_ends_the_informer(new_informer, server, new_queue, journal):
    server.create("a")
    server.create("b")
    informer = new_informer(new_queue=new_queue, indexers={"fails": failing_for("uid-2")})
    informer.add_event_handler(Recorder(journal))
    running = in_thread(informer.run, StopSignal())
    assert isinstance(running.exception(WATCHDOG_SECONDS), IndexFuncError)
    assert "h.OnAdd(uid-2@3, initial=true)" not in journal.lines


def test_of_a_batch_only_what_the_store_took_is_told(new_informer, journal):
    """With batches, the other objects are stored and told of."""
    held = StopSignal()
    fails = failing_for("u2", "u3")

    def index(obj):
        if obj["metadata"]["uid"] == "u0":
            held.wait(WATCHDOG_SECONDS)  # so that the others gather
        return fails(obj)

    scripted = ScriptedServer(journal)
    scripted.will_list(1)
    informer = new_informer(lister_watcher=scripted, indexers={"fails": index})
    seen = []
    apply = informer.on_add
    informer.on_add = lambda obj, initial: seen.append(obj["metadata"]["uid"]) or apply(obj, initial)
    running = in_thread(informer.run, StopSignal())
    watch = scripted.next_watch()
    watch.added(*(manifest(f"a/x{number}", f"u{number}", number + 2) for number in range(5)))
    assert eventually(lambda: informer.last_sync_resource_version() == "6")
    held.set()
    error = running.exception(WATCHDOG_SECONDS)
    assert isinstance(error, IndexFuncError)
    assert error.key == "a/x2"
    assert isinstance(error.__cause__, TransactionError)
    assert [failed.key for failed in error.__cause__.errors] == ["a/x2", "a/x3"]
    assert seen == ["u0", "u1", "u4"]
    assert sorted(informer.get_store().list_keys()) == ["a/x0", "a/x1", "a/x4"]


def test_the_block_raises_what_ended_the_informer(new_informer, server, caplog):
    informer = new_informer(indexers={"fails": failing_for("uid-1")})

    def follow_until_it_ends():
        with informer:
            server.create("a")
            assert eventually(informer.is_stopped)

    with caplog.at_level(logging.CRITICAL, "kcache.informers"), pytest.raises(IndexFuncError):
        follow_until_it_ends()
    assert "the informer of pods has ended" in caplog.text


def test_what_the_block_raises_itself_comes_first(new_informer, server, caplog):
    informer = new_informer(indexers={"fails": failing_for("uid-1")})

    def fail_after_it_has_ended():
        with informer:
            server.create("a")
            assert eventually(informer.is_stopped)
            raise ZeroDivisionError

    with caplog.at_level(logging.ERROR, "kcache.informers"), pytest.raises(ZeroDivisionError):
        fail_after_it_has_ended()
    assert "the informer of pods had failed: unable to calculate" in caplog.text


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_index_function_that_wants_to_exit_ends_the_informer_loudly(new_informer, server, new_queue):
    def leave(obj):
        raise SystemExit(3)

    server.create("a")
    informer = new_informer(new_queue=new_queue, indexers={"leaves": leave})
    informer.start()
    assert eventually(informer.is_stopped)
    with pytest.raises(SystemExit):
        informer.stop(WATCHDOG_SECONDS)


def test_index_functions_can_be_added_at_any_time(new_informer, server, new_queue):
    informer = new_informer(new_queue=new_queue, indexers={"namespace": meta_namespace_index_func})
    informer.add_indexers({"before": failing_for()})
    server.create("a")
    with informer:
        assert eventually(informer.has_synced)
        informer.add_indexers({"after": failing_for()})
        assert informer.get_indexer().index_keys("after", "ok") == ["default/a"]
        server.create("b")
        for name in ("before", "after"):
            assert eventually(
                lambda name=name: informer.get_indexer().index_keys(name, "ok") == ["default/a", "default/b"]
            )
        with pytest.raises(IndexerConflictError, match="namespace"):
            informer.add_indexers({"namespace": meta_namespace_index_func, "other": failing_for()})
        with pytest.raises(IndexFuncError):
            informer.add_indexers({"fails": failing_for("uid-1")})
        assert set(informer.get_indexer().get_indexers()) == {"namespace", "before", "after"}
        server.create("c")
        assert eventually(lambda: len(informer.get_store().list_keys()) == 3)


# Key functions.


def test_an_object_without_a_key_is_left_out_of_a_watch(new_informer, server, new_queue, caplog):
    informer = new_informer(new_queue=new_queue, key_func=strict_key)
    with caplog.at_level(logging.ERROR, "kcache.informers"), informer:
        assert server.wait_for_watchers(1)
        server.create("keyless")
        server.create("b")
        assert eventually(lambda: informer.get_store().list_keys() == ["default/b"])
        assert informer.last_sync_resource_version() == "3"
    assert "couldn't create key for object" in caplog.text


def strict_key(obj):
    if obj["metadata"]["name"] == "keyless":
        raise ValueError("no key")
    return meta_namespace_key_func(obj)


# Transformers.


def test_each_object_is_transformed_before_anybody_sees_it(new_informer, server, new_queue, journal):
    def renamed(obj):
        return obj | {"metadata": obj["metadata"] | {"uid": f"t-{obj['metadata']['uid']}"}}

    server.create("a")
    informer = new_informer(new_queue=new_queue)
    informer.set_transform(renamed)
    informer.add_event_handler(Recorder(journal))
    with informer:
        journal.wait_for("h.OnAdd(t-uid-1@2, initial=true)")
        server.update("a")
        journal.wait_for("h.OnUpdate(t-uid-1@2 -> t-uid-1@3)")
        server.delete("a")
        journal.wait_for("h.OnDelete(t-uid-1@4)")


def test_what_cannot_be_transformed_is_left_out_of_a_watch(new_informer, server, new_queue, journal, caplog):
    def fail_for_a(obj):
        if obj["metadata"]["name"] == "a":
            raise ValueError("not this one")
        return obj

    informer = new_informer(new_queue=new_queue)
    informer.set_transform(fail_for_a)
    informer.add_event_handler(Recorder(journal))
    with caplog.at_level(logging.ERROR, "kcache.informers"), informer:
        assert server.wait_for_watchers(1)
        server.create("a")
        server.create("b")
        journal.wait_for("h.OnAdd(uid-2@3, initial=false)")
        assert informer.last_sync_resource_version() == "3"
    assert "transforming: not this one" in caplog.text
    assert [str(request)[:5] for request in server.requests] == ["LIST ", "WATCH"]
    assert len(journal.lines) == 1


def test_a_list_that_cannot_be_transformed_is_asked_for_again(new_informer, server, new_queue, clock, journal):
    failures = [ValueError("not now")]
    errors = []

    def fail_once(obj):
        if failures and obj["metadata"]["name"] == "b":
            raise failures.pop()
        return obj

    server.create("a")
    server.create("b")
    informer = new_informer(new_queue=new_queue)
    informer.set_transform(fail_once)
    informer.set_watch_error_handler(lambda _, error: errors.append(error))
    registration = informer.add_event_handler(Recorder(journal))
    with informer:
        assert clock.wait_for_waiters(1)
        clock.step(2.0)
        assert eventually(registration.has_synced)
        assert sorted(informer.get_store().list_keys()) == ["default/a", "default/b"]
    (error,) = errors
    assert isinstance(error, SyncError)
    assert "couldn't enqueue object: transforming: not now" in str(error)
    assert "OnAdd(uid-2@3, initial=true)" in journal.of("h")


def test_a_transformer_that_returns_nothing_does_not_go_unnoticed(new_informer, server, new_queue):
    informer = new_informer(new_queue=new_queue)
    informer.set_transform(lambda obj: None)
    informer.start()
    assert server.wait_for_watchers(1)
    server.create("a")
    assert eventually(informer.is_stopped)
    with pytest.raises((KeyFuncError, InvalidObjectError)):
        informer.stop(WATCHDOG_SECONDS)


def test_what_ends_the_reflector_ends_the_informer_loudly(new_informer, server, new_queue):
    def leave(obj):
        raise SystemExit(3)

    informer = new_informer(new_queue=new_queue)
    informer.set_transform(leave)
    running = in_thread(informer.run, StopSignal())
    assert server.wait_for_watchers(1)
    server.create("a")
    assert isinstance(running.exception(WATCHDOG_SECONDS), SystemExit)
    assert informer.is_stopped()


# The watch error handler.


def test_the_watch_error_handler_is_told_of_each_failure(server, clock, new_informer):
    told = []
    server.refuse_lists(2, ApiError(503, "ServiceUnavailable", "later"))
    informer = new_informer()
    informer.set_watch_error_handler(lambda reflector, error: told.append((reflector.type_description, error)))
    with informer:
        for _ in range(2):
            assert clock.wait_for_waiters(1)
            clock.step(4.0)
        assert eventually(informer.has_synced)
    assert [(description, type(error), str(error)) for description, error in told] == [
        ("pods", ListError, "failed to list pods: later")
    ] * 2


def test_a_watch_error_handler_that_raises_is_logged(server, clock, new_informer, caplog):
    def fail(reflector, error):
        raise ValueError("not me")

    server.refuse_lists(1, ApiError(503))
    informer = new_informer()
    informer.set_watch_error_handler(fail)
    with caplog.at_level(logging.ERROR, "kcache.informers"), informer:
        assert clock.wait_for_waiters(1)
        clock.step(2.0)
        assert eventually(informer.has_synced)
    assert "the watch error handler failed" in caplog.text


def test_objects_of_other_types_are_dropped(server, journal):
    scripted = ScriptedServer(journal)
    scripted.will_list(1)
    informer = SharedIndexInformer(scripted, expected_type=dict)
    informer.add_event_handler(Recorder(journal))
    with informer:
        watch = scripted.next_watch()
        watch.added(["no", "dict"], manifest("a/x", "u1", 2))
        journal.wait_for("h.OnAdd(u1@2, initial=false)")
    assert len(journal.of("h")) == 1
