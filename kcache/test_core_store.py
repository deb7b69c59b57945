from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import kcache
from kcache import (
    Cache,
    IndexNotFoundError,
    InvalidIndexerError,
    Semantics,
    ThreadSafeMap,
    new_indexer,
    new_store,
    new_thread_safe_store,
)

Content = Callable[[Any], dict[str, object]]


@dataclass(eq=False)
class Thing:
    key: str
    values: Any = ()
    others: Any = ()
    resource_version: str = ""
    name: str = ""
    namespace: str = ""


def _key(thing: Thing) -> str:
    return thing.key


def _values(thing: Thing) -> Any:
    return list(thing.values)


def _others(thing: Thing) -> Any:
    return list(thing.others)


def _indexer(**options: Any) -> Cache[Thing]:
    return new_indexer(_key, {"i": _values}, **options)


# Factories


@pytest.mark.parametrize("semantics", ["classic", "current", Semantics.CLASSIC, Semantics.CURRENT])
def test_factories_take_semantics_by_name_or_member(semantics: Any) -> None:
    store: Cache[Thing] = new_indexer(_key, semantics=semantics)
    storage: ThreadSafeMap[Thing] = new_thread_safe_store(semantics=semantics)
    assert store.list() == storage.list() == []


@pytest.mark.parametrize("semantics", ["", "Classic", "new", None])
def test_factories_refuse_other_semantics(semantics: Any) -> None:
    with pytest.raises(ValueError, match="is not a valid Semantics"):
        new_indexer(_key, semantics=semantics)
    with pytest.raises(ValueError, match="is not a valid Semantics"):
        new_thread_safe_store(semantics=semantics)


@pytest.mark.parametrize("make", [new_thread_safe_store, ThreadSafeMap, lambda indexers: new_indexer(_key, indexers)])
@pytest.mark.parametrize("function", [None, "node", 5, []])
def test_index_functions_must_be_callable(make: Callable[[Any], Any], function: object) -> None:
    with pytest.raises(InvalidIndexerError, match=r'^the index function of "bad" is a '):
        make({"good": _values, "bad": function})


@pytest.mark.parametrize("indexers", [None, {}])
def test_no_indices(indexers: Any) -> None:
    for store in (new_indexer(_key, indexers), new_indexer(_key), new_store(_key)):
        store.add(Thing("k"))
        assert store.get_indexers() == {}
        assert store.list_keys() == ["k"]
    assert new_thread_safe_store(indexers).get_indexers() == {}


def test_the_types_are_the_public_ones() -> None:
    made: list[object] = [new_store(_key), new_indexer(_key), new_thread_safe_store({"i": _values})]
    assert [type(store) for store in made] == [Cache, Cache, ThreadSafeMap]


def test_every_public_name_is_there() -> None:
    assert [name for name in kcache.__all__ if not hasattr(kcache, name)] == []
    assert len(set(kcache.__all__)) == len(kcache.__all__)


def test_a_cache_takes_any_storage() -> None:
    storage: ThreadSafeMap[Thing] = new_thread_safe_store({"i": _values})
    store: Cache[Thing] = Cache(_key, storage)
    thing = Thing("k", ["v"])
    store.add(thing)
    assert storage.get("k") is thing
    assert storage.index_keys("i", "v") == ["k"]


def test_a_cache_leaves_resync_to_its_storage() -> None:
    class Counting(ThreadSafeMap[Thing]):
        resyncs = 0

        def resync(self) -> None:
            self.resyncs += 1

    storage = Counting()
    store: Cache[Thing] = Cache(_key, storage)
    store.resync()
    assert storage.resyncs == 1


# Reading and writing


@pytest.mark.parametrize("write", ["add", "update"])
def test_add_and_update_are_the_same(write: str, content: Content) -> None:
    store = _indexer()
    first, second = Thing("k", ["a", "b"]), Thing("k", ["b", "c"])
    getattr(store, write)(first)
    assert store.get(Thing("k")) is first
    assert content(store)["indices"] == {"i": {"a": ["k"], "b": ["k"]}}
    getattr(store, write)(second)
    assert store.get_by_key("k") is second
    assert store.by_index("i", "b") == [second]
    assert content(store)["indices"] == {"i": {"b": ["k"], "c": ["k"]}}


def test_methods_of_a_store_return_none() -> None:
    store, thing = _indexer(semantics="current"), Thing("k")
    calls: list[Callable[[], object]] = [
        lambda: store.add(thing),
        lambda: store.update(thing),
        lambda: store.delete(thing),
        lambda: store.replace([thing]),
        lambda: store.resync(),
        lambda: store.add_indexers({"j": _others}),
        lambda: store.transaction(),
        lambda: store.bookmark("1"),
    ]
    assert [call() for call in calls] == [None] * len(calls)


def test_a_miss_gives_the_default() -> None:
    store, default = _indexer(), object()
    storage: ThreadSafeMap[Thing] = new_thread_safe_store()
    assert store.get(Thing("k")) is None
    assert store.get_by_key("k") is None
    assert storage.get("k") is None
    assert store.get(Thing("k"), default) is default
    assert store.get_by_key("", default) is default
    assert storage.get("k", default) is default


def test_objects_that_are_false_are_found() -> None:
    store: Cache[Any] = new_indexer(lambda obj: "k", {"i": lambda obj: ["v"]})
    falsehoods: list[object] = ["", 0, [], {}, False]
    for obj in falsehoods:
        store.add(obj)
        assert store.get_by_key("k", "default") is obj
        assert store.list() == [obj]
        assert store.index("i", None) == [obj]
        store.delete(obj)
        assert store.list() == []


def test_objects_need_not_be_hashable_or_comparable() -> None:
    class Strange:
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            raise RuntimeError("not comparable")

        def __bool__(self) -> bool:
            raise RuntimeError("neither true nor false")

    store: Cache[Any] = new_indexer(lambda obj: "k", {"i": lambda obj: ["v", "w"]})
    first, second = Strange(), Strange()
    store.add(first)
    store.replace([first, second])
    assert store.get_by_key("k") is second
    assert store.index("i", first)[0] is second
    store.transaction(kcache.Transaction(kcache.TransactionType.UPDATE, first))
    assert store.list()[0] is first
    store.delete(first)
    assert len(store.list()) == 0


def test_delete_goes_by_key_and_removes_the_entries_of_the_stored_object(content: Content) -> None:
    store = _indexer()
    store.add(Thing("k", ["a"]))
    store.delete(Thing("k", ["b"]))
    assert content(store)["objects"] == {}
    assert content(store)["indices"] == {"i": {}}
    store.delete(Thing("k"))
    assert store.list() == []


def test_resync_does_nothing(content: Content) -> None:
    store = _indexer()
    store.add(Thing("k", ["a"]))
    before = content(store)
    store.resync()
    assert content(store) == before


def test_replace_is_the_whole_new_content_and_the_last_of_a_key_wins(content: Content) -> None:
    store = _indexer()
    store.add(Thing("old", ["o"]))
    last = Thing("k", ["c"])
    store.replace(iter([Thing("k", ["a"]), Thing("j", ["b"]), last]), "12")
    assert store.get_by_key("k") is last
    assert content(store)["indices"] == {"i": {"b": ["j"], "c": ["k"]}}
    assert store.last_sync_resource_version() == "12"
    store.replace([])
    assert content(store) == {"objects": {}, "indices": {"i": {}}, "functions": {"i": _values}, "version": ""}


def test_index_gives_each_object_once_and_needs_no_stored_object() -> None:
    store = _indexer()
    both, one = Thing("both", ["a", "b"]), Thing("one", ["b"])
    store.replace([both, one, Thing("none")])
    assert sorted(thing.key for thing in store.index("i", Thing("probe", ["a", "b", "zz", "a"]))) == ["both", "one"]
    assert store.index("i", Thing("probe", ["a"])) == [both]
    assert store.index("i", Thing("probe")) == []


def test_index_keys_are_sorted_by_code_point() -> None:
    store = _indexer()
    keys = ["b", "a", "", "B", "\uffff", "\U0001f600", "ä", "a/b", "a-b", "10", "9"]
    store.replace([Thing(key, ["v"]) for key in keys])
    assert store.index_keys("i", "v") == sorted(keys, key=lambda key: key.encode())


@pytest.mark.parametrize("name", ["", "I", "no such index"])
def test_lookups_under_an_unknown_index(name: str) -> None:
    store = _indexer()
    storage = new_thread_safe_store({"i": _values})
    for lookup in (
        lambda: store.by_index(name, "v"),
        lambda: store.index_keys(name, "v"),
        lambda: store.index(name, Thing("k")),
        lambda: storage.by_index(name, "v"),
        lambda: storage.index_keys(name, "v"),
        lambda: storage.index(name, Thing("k")),
    ):
        with pytest.raises(IndexNotFoundError) as caught:
            lookup()
        assert str(caught.value) == f"Index with name {name} does not exist"
        assert caught.value.index_name == name
    assert store.list_index_func_values(name) == []


def test_unknown_values_and_the_empty_value() -> None:
    store = _indexer()
    assert store.by_index("i", "") == []
    thing = Thing("", [""])
    store.add(thing)
    assert store.by_index("i", "") == [thing]
    assert store.index_keys("i", "") == [""]
    assert store.list_index_func_values("i") == [""]
    assert store.by_index("i", "zz") == []
    assert store.index_keys("i", "zz") == []
    assert store.get_by_key("") is thing


# What is given and what is returned belongs to the caller


def test_results_are_new_lists(content: Content) -> None:
    store = _indexer()
    thing = Thing("k", ["v"])
    store.add(thing)
    before = content(store)
    for look in (
        store.list,
        store.list_keys,
        lambda: store.by_index("i", "v"),
        lambda: store.index("i", thing),
        lambda: store.index_keys("i", "v"),
        lambda: store.list_index_func_values("i"),
    ):
        result: Any = look()
        assert type(result) is list
        assert len(result) == 1
        result.append("spoilt")
        result[0] = None
        assert content(store) == before


def test_get_indexers_is_a_copy(content: Content) -> None:
    store = _indexer()
    before = content(store)
    copy: Any = store.get_indexers()
    copy["j"] = _others
    del copy["i"]
    assert content(store) == before
    store.add(Thing("k", ["v"], ["w"]))
    assert store.index_keys("i", "v") == ["k"]
    with pytest.raises(IndexNotFoundError):
        store.by_index("j", "w")


def test_arguments_are_not_kept(content: Content) -> None:
    initial: dict[str, Any] = {"i": _values}
    store = new_indexer(_key, initial)
    initial.clear()
    added: dict[str, Any] = {"j": _others}
    store.add_indexers(added)
    added["l"] = added.pop("j")
    objects = [Thing("k", ["v"], ["w"])]
    store.replace(objects)
    before = content(store)
    assert before["indices"] == {"i": {"v": ["k"]}, "j": {"w": ["k"]}}
    objects[0] = Thing("j")
    objects.append(Thing("l"))
    assert content(store) == before


def test_thread_safe_map_copies_the_mapping_it_is_given(content: Content) -> None:
    storage = new_thread_safe_store({"i": _values})
    items = {"k1": Thing("x", ["v"]), "k2": Thing("x", ["v"])}
    storage.replace(items, "3")
    before = content(storage)
    assert before["indices"] == {"i": {"v": ["k1", "k2"]}}
    items["k3"] = Thing("x", ["v"])
    del items["k1"]
    assert content(storage) == before
    storage.delete("k2")
    assert "k2" in items


def test_the_list_that_an_index_function_returns_is_not_kept(content: Content) -> None:
    live: list[str] = ["a", "b"]
    single: list[str] = ["x"]
    store: Cache[Thing] = new_indexer(_key, {"i": lambda thing: live, "j": lambda thing: single})
    store.add(Thing("k"))
    before = content(store)
    live[:] = ["c"]
    single[0] = "y"
    assert content(store) == before
    store.add(Thing("k"))
    assert content(store)["indices"] == {"i": {"c": ["k"]}, "j": {"y": ["k"]}}
    live.clear()
    store.delete(Thing("k"))
    assert content(store)["indices"] == {"i": {}, "j": {}}


def test_objects_changed_in_place_leave_nothing_behind(content: Content) -> None:
    store = _indexer()
    thing = Thing("k", ["old"])
    store.add(thing)
    thing.values = ["new"]
    assert store.index_keys("i", "old") == ["k"]
    store.update(thing)
    assert content(store)["indices"] == {"i": {"new": ["k"]}}
    thing.values = ["newer"]
    store.delete(thing)
    assert content(store)["indices"] == {"i": {}}


def test_an_index_function_that_is_not_deterministic_leaves_nothing_behind(content: Content) -> None:
    counter = itertools.count()
    store: Cache[Thing] = new_indexer(_key, {"i": lambda thing: [str(next(counter))]})
    for _ in range(3):
        store.add(Thing("k"))
    assert content(store)["indices"] == {"i": {"2": ["k"]}}
    store.delete(Thing("k"))
    assert content(store)["indices"] == {"i": {}}
