from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from kcache import (
    Cache,
    DeletedFinalStateUnknown,
    ExplicitKey,
    IndexFuncError,
    InvalidObjectError,
    KeyFuncError,
    ThreadSafeMap,
    ThreadSafeStoreTransaction,
    Transaction,
    TransactionError,
    TransactionType,
    TransformError,
    deletion_handling_meta_namespace_key_func,
    meta_namespace_key_func,
    new_indexer,
    new_store,
    new_thread_safe_store,
)

Content = Callable[[Any], dict[str, object]]

ADD, UPDATE, DELETE = TransactionType.ADD, TransactionType.UPDATE, TransactionType.DELETE


@dataclass(eq=False)
class Thing:
    key: Any
    values: Any = ()
    resource_version: str = ""
    name: str = ""
    namespace: str = ""


def _key(thing: Thing) -> Any:
    if isinstance(thing.key, Exception):
        raise thing.key
    return thing.key


def _values(thing: Thing) -> Any:
    if isinstance(thing.values, Exception):
        raise thing.values
    return list(thing.values)


def _store(**options: Any) -> Cache[Any]:
    return new_indexer(_key, {"i": _values}, **options)


def _apply(store: Cache[Any], *entries: tuple[Any, Any]) -> None:
    store.transaction(*(Transaction(kind, obj) for kind, obj in entries))


def test_a_transaction_applies_all_of_its_writes(content: Content) -> None:
    store = _store()
    store.replace([Thing("x", ["n1"]), Thing("y", ["n1"])])
    x, z = Thing("x", ["n2"]), Thing("z", ["n1"])
    _apply(store, (UPDATE, x), (DELETE, Thing("y")), (ADD, z), (DELETE, Thing("missing")))
    seen = content(store)
    assert seen["objects"] == {"x": id(x), "z": id(z)}
    assert seen["indices"] == {"i": {"n1": ["z"], "n2": ["x"]}}


def test_the_writes_of_one_key_are_applied_in_order(content: Content) -> None:
    first, second = Thing("k", ["a"]), Thing("k", ["b"])
    cases: list[tuple[list[tuple[TransactionType, Thing]], Thing | None]] = [
        ([(ADD, first), (ADD, second)], second),
        ([(UPDATE, first), (DELETE, second)], None),
        ([(DELETE, first), (UPDATE, second)], second),
        ([(ADD, first), (DELETE, first), (ADD, first)], first),
        ([(ADD, second), (DELETE, first), (ADD, first), (DELETE, second)], None),
    ]
    for before in (None, Thing("k", ["old"])):
        for entries, left in cases:
            store = _store()
            store.replace([before] if before else [])
            _apply(store, *entries, (ADD, Thing("other", ["o"])))
            assert store.get_by_key("k") is left
            expected = {left.values[0]: ["k"]} if left else {}
            assert content(store)["indices"] == {"i": {**expected, "o": ["other"]}}


def test_an_empty_transaction_changes_nothing(content: Content) -> None:
    store = _store()
    store.add(Thing("k", ["a"], "5"))
    before = content(store)
    store.transaction()
    assert content(store) == before
    storage: ThreadSafeMap[Any] = new_thread_safe_store()
    storage.transaction()
    assert storage.list() == []


def test_failing_entries_are_left_out_and_reported_by_position(content: Content) -> None:
    store = _store()
    store.replace([Thing("gone", ["g"]), Thing("kept", ["old"], "2")], "3")
    no_key, no_values = ValueError("no key"), ValueError("no values")
    kept = store.get_by_key("kept")
    good, better = Thing("good", ["a"], "10"), Thing("better", ["b"], "11")
    with pytest.raises(TransactionError) as caught:
        _apply(
            store,
            (ADD, Thing(no_key)),
            (ADD, good),
            (UPDATE, Thing("kept", no_values)),
            (DELETE, Thing("gone", no_values)),
            (DELETE, Thing(5)),
            (UPDATE, better),
            (ADD, Thing("bad", 5)),
        )
    error = caught.value
    assert error.total_transactions == 7
    assert error.successful_indices == (1, 3, 5)
    assert [type(each) for each in error.errors] == [KeyFuncError, IndexFuncError, KeyFuncError, IndexFuncError]
    assert [getattr(each, "cause", None) for each in error.errors[:2]] == [no_key, no_values]
    assert str(error).startswith("failed to execute (4/7) transactions failed due to: [couldn't create key for object ")
    seen = content(store)
    assert seen["objects"] == {"kept": id(kept), "good": id(good), "better": id(better)}
    assert seen["indices"] == {"i": {"a": ["good"], "b": ["better"], "old": ["kept"]}}
    assert seen["version"] == "11"


def test_positions_are_right_where_only_index_functions_fail() -> None:
    store = _store()
    with pytest.raises(TransactionError) as caught:
        _apply(store, (ADD, Thing("a", 5)), (ADD, Thing("b")), (ADD, Thing("c", 5)))
    assert caught.value.successful_indices == (1,)
    assert [str(getattr(error, "key", None)) for error in caught.value.errors] == ["a", "c"]
    assert store.list_keys() == ["b"]


def test_a_transaction_may_fail_as_a_whole(content: Content) -> None:
    store = _store()
    store.replace([Thing("k", ["a"], "2")], "3")
    before = content(store)
    with pytest.raises(TransactionError, match=r"^failed to execute \(2/2\) transactions") as caught:
        _apply(store, (ADD, Thing(None)), (UPDATE, Thing("k", 5)))
    assert caught.value.successful_indices == ()
    assert content(store) == before


def test_none_is_left_out_of_a_transaction_but_may_be_deleted() -> None:
    store: Cache[Any] = new_indexer(lambda obj: obj or "none")
    store.add("none")
    with pytest.raises(TransactionError) as caught:
        _apply(store, (ADD, None), (UPDATE, None), (ADD, "other"))
    assert [type(error) for error in caught.value.errors] == [InvalidObjectError] * 2
    assert sorted(store.list()) == ["none", "other"]
    _apply(store, (DELETE, None))
    assert store.list() == ["other"]


def test_the_type_of_an_entry_may_be_its_name(content: Content) -> None:
    store = _store()
    _apply(store, ("Add", Thing("k", ["a"])), ("Update", Thing("j", ["a"])), ("Delete", Thing("k")))
    assert content(store)["indices"] == {"i": {"a": ["j"]}}


@pytest.mark.parametrize("kind", ["", "add", "Replace", None])
def test_an_unknown_type_stops_the_whole_transaction(kind: Any, content: Content) -> None:
    store = _store()
    store.add(Thing("k", ["a"]))
    before = content(store)
    with pytest.raises(ValueError, match="is not a valid TransactionType"):
        _apply(store, (ADD, Thing("new")), (kind, Thing("other")), (DELETE, Thing("k")))
    assert content(store) == before
    storage: ThreadSafeMap[Any] = new_thread_safe_store()
    with pytest.raises(ValueError, match="is not a valid TransactionType"):
        storage.transaction(ThreadSafeStoreTransaction(ADD, "a", 1), ThreadSafeStoreTransaction(kind, "b", 1))
    assert storage.list() == []


def test_a_transaction_does_not_run_the_transformer() -> None:
    def transformer(thing: Thing) -> Thing:
        raise ValueError("not in a transaction")

    store = _store(transformer=transformer)
    thing = Thing("k", ["a"])
    _apply(store, (ADD, thing))
    assert store.list() == [thing]
    with pytest.raises(TransformError):
        store.add(thing)


def test_a_transaction_on_a_thread_safe_map(content: Content) -> None:
    storage: ThreadSafeMap[Any] = new_thread_safe_store({"i": _values})
    storage.add("k1", Thing("x", ["a"]))
    thing = Thing("x", ["b"], "4")
    storage.transaction(
        ThreadSafeStoreTransaction(DELETE, "k1", None),
        ThreadSafeStoreTransaction(ADD, "k2", thing),
        ThreadSafeStoreTransaction(UPDATE, "k3", thing),
    )
    assert content(storage)["indices"] == {"i": {"b": ["k2", "k3"]}}
    assert storage.last_sync_resource_version() == "4"
    with pytest.raises(TransactionError) as caught:
        storage.transaction(
            ThreadSafeStoreTransaction(ADD, "k4", None),
            ThreadSafeStoreTransaction(DELETE, "k2", None),
            ThreadSafeStoreTransaction(ADD, "k5", Thing("x", 5)),
        )
    assert caught.value.successful_indices == (1,)
    assert [type(error) for error in caught.value.errors] == [InvalidObjectError, IndexFuncError]
    assert content(storage)["indices"] == {"i": {"b": ["k3"]}}


def test_entries_are_values() -> None:
    thing = Thing("k")
    assert Transaction(ADD, thing) == Transaction(ADD, thing) != Transaction(DELETE, thing)
    with pytest.raises(AttributeError):
        Transaction(ADD, thing).obj = Thing("j")  # type: ignore[misc]
    assert [kind.value for kind in TransactionType] == ["Add", "Update", "Delete"]


# Resource versions


class _Watched:
    """A store, and a check of the resource version after each of its writes."""

    def __init__(self, key_func: Any = _key) -> None:
        self.store: Cache[Any] = new_store(key_func)

    def after(self, write: Callable[[], None]) -> str:
        write()
        return self.store.last_sync_resource_version()


def test_the_version_is_that_of_the_last_write_as_it_was_given() -> None:
    watched = _Watched()
    store, after = watched.store, watched.after
    assert store.last_sync_resource_version() == ""
    assert after(lambda: store.add(Thing("k", (), "10"))) == "10"
    assert after(lambda: store.update(Thing("k", (), "7"))) == "7"
    assert after(lambda: store.bookmark("20")) == "20"
    assert after(lambda: store.delete(Thing("k", (), "21"))) == "21"
    assert after(lambda: store.delete(Thing("missing", (), "22"))) == "22"
    assert after(lambda: store.replace([Thing("k", (), "5")], "30")) == "30"
    assert after(lambda: store.add(Thing("k"))) == ""
    assert after(lambda: store.bookmark("no number")) == "no number"
    assert after(lambda: store.replace([Thing("k", (), "5")])) == ""
    assert after(lambda: store.bookmark("31")) == "31"
    assert after(lambda: store.bookmark("")) == ""


def test_objects_without_metadata_and_tombstones_leave_the_version() -> None:
    watched = _Watched(lambda obj: "k")
    store, after = watched.store, watched.after
    store.bookmark("5")
    for obj in (
        "text",
        5,
        SimpleNamespace(metadata=None),
        {"metadata": None},
        {},
        ExplicitKey("k"),
        object(),
        SimpleNamespace(name="n"),
    ):
        assert after(partial(store.add, obj)) == "5"
        assert after(partial(store.delete, obj)) == "5"
        assert after(partial(_apply, store, (ADD, obj))) == "5"
    tombstone = DeletedFinalStateUnknown("a/x", {"metadata": {"name": "x", "namespace": "a", "resourceVersion": "9"}})
    deletions = _Watched(deletion_handling_meta_namespace_key_func)
    deletions.store.bookmark("5")
    assert deletions.after(lambda: deletions.store.delete(tombstone)) == "5"


def test_manifests_and_models_have_a_version() -> None:
    watched = _Watched(meta_namespace_key_func)
    store, after = watched.store, watched.after
    assert after(lambda: store.add({"metadata": {"name": "x", "resourceVersion": "3"}})) == "3"
    model = SimpleNamespace(metadata=SimpleNamespace(name="x", namespace=None, resource_version="4"))
    assert after(lambda: store.update(model)) == "4"
    assert after(lambda: store.delete(SimpleNamespace(name="x", namespace="", resource_version="5"))) == "5"
    assert after(lambda: store.add({"metadata": {"name": "x"}})) == ""


def test_a_transaction_has_the_version_of_its_last_entry() -> None:
    watched = _Watched()
    store, after = watched.store, watched.after
    x, y = Thing("x", (), "8"), Thing("y", (), "3")
    assert after(lambda: _apply(store, (ADD, x), (ADD, y))) == "3"
    assert after(lambda: _apply(store, (ADD, y), (DELETE, x))) == "8"
    assert after(lambda: _apply(store, (ADD, x), (ADD, Thing("z")))) == ""
    with pytest.raises(TransactionError):
        _apply(store, (ADD, y), (ADD, Thing(None, (), "99")))
    assert store.last_sync_resource_version() == "3"
    # Of one key, too, the last entry counts, wherever the first one stands.
    assert after(lambda: _apply(store, (ADD, Thing("x", (), "1")), (ADD, y), (ADD, x))) == "8"


def test_failing_writes_leave_the_version() -> None:
    store = _store()
    store.bookmark("5")
    writes: list[Callable[[], None]] = [
        lambda: store.add(Thing(None, (), "6")),
        lambda: store.update(Thing("k", 5, "6")),
        lambda: store.delete(Thing(None, (), "6")),
        lambda: store.replace([Thing("k", 5)], "6"),
        lambda: store.add_indexers({"i": _values}),
    ]
    for write in writes:
        with pytest.raises(Exception):  # noqa: B017, PT011 - which one is for other tests
            write()
        assert store.last_sync_resource_version() == "5"


def test_versions_of_a_thread_safe_map() -> None:
    storage: ThreadSafeMap[Any] = new_thread_safe_store()
    storage.add("k", Thing("x", (), "1"))
    assert storage.last_sync_resource_version() == "1"
    storage.delete("k")
    assert storage.last_sync_resource_version() == "1"
    assert storage.list() == []
    storage.add("k", Thing("x", (), "2"))
    storage.delete_with_object("k", Thing("y", (), "3"))
    assert storage.last_sync_resource_version() == "3"
    assert storage.list() == []
    storage.delete_with_object("k", Thing("y", (), "4"))
    assert storage.last_sync_resource_version() == "4"
    storage.delete_with_object("k", None)
    assert storage.last_sync_resource_version() == "4"
    storage.replace({"k": Thing("x", (), "9")}, "5")
    assert storage.last_sync_resource_version() == "5"
    storage.resync()
    assert storage.last_sync_resource_version() == "5"
