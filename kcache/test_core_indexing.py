"""Index values, late indices, and agreement with a model that keeps nothing but a dict."""

from __future__ import annotations

import enum
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kcache
from kcache import (
    Cache,
    IndexerConflictError,
    IndexersRunningError,
    IndexFuncError,
    InvalidIndexerError,
    Semantics,
    meta_namespace_key_func,
    new_indexer,
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


# Index values


class Colour(str, enum.Enum):  # noqa: UP042 - the older way is what most code has
    RED = "red"


class NewColour(enum.StrEnum):
    RED = "red"


class Text(str):
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("must not be compared")

    def __hash__(self) -> int:
        raise RuntimeError("must not be hashed")

    def __str__(self) -> str:
        return "something else"


@pytest.mark.parametrize("value", [Colour.RED, NewColour.RED, Text("red")], ids=["str+Enum", "StrEnum", "subclass"])
@pytest.mark.parametrize("count", [1, 2])
def test_values_of_a_subclass_of_str_are_stored_as_str(value: str, count: int, content: Content) -> None:
    store = _indexer()
    store.add(Thing("k", [value] * count))
    assert content(store)["indices"] == {"i": {"red": ["k"]}}
    assert [type(each) for each in store.list_index_func_values("i")] == [str]
    assert [thing.key for thing in store.index("i", Thing("probe", [value] * count))] == ["k"]


@pytest.mark.parametrize("value", [Colour.RED, NewColour.RED, Text("red")], ids=["str+Enum", "StrEnum", "subclass"])
def test_keys_of_a_subclass_of_str_are_stored_as_str(value: str) -> None:
    store = _indexer()
    thing = Thing(value, ["v"])
    store.add(thing)
    assert store.list_keys() == ["red"]
    assert [type(key) for key in store.list_keys() + store.index_keys("i", "v")] == [str, str]
    assert store.get(thing) is thing
    store.replace([thing, thing])
    store.transaction(kcache.Transaction(kcache.TransactionType.ADD, thing))
    assert [type(key) for key in store.list_keys()] == [str]
    store.delete(thing)
    assert store.list() == []


@pytest.mark.parametrize("value", [Colour.RED, NewColour.RED], ids=["str+Enum", "StrEnum"])
def test_members_of_enums_are_looked_up_by_their_value(value: str) -> None:
    store = _indexer()
    thing = Thing("red", ["red"])
    store.add(thing)
    assert store.get_by_key(value) is thing
    assert store.by_index("i", value) == [thing]
    assert store.index_keys("i", value) == ["red"]


@pytest.mark.parametrize(
    ("returned", "values"),
    [
        (None, []),
        ([], []),
        ((), []),
        (["a"], ["a"]),
        (("a",), ["a"]),
        (("a", "b"), ["a", "b"]),
        (["a", "a"], ["a"]),
        (["a", "b", "a"], ["a", "b"]),
        ([""], [""]),
        (["ab", "a", "b"], ["a", "ab", "b"]),
    ],
)
def test_what_index_functions_may_return(returned: Any, values: list[str], content: Content) -> None:
    store: Cache[Thing] = new_indexer(_key, {"i": lambda thing: returned})
    for _ in range(2):
        store.add(Thing("k"))
        assert content(store)["indices"] == {"i": {value: ["k"] for value in values}}
    assert [thing.key for thing in store.index("i", Thing("probe"))] == ["k"] * bool(values)
    store.delete(Thing("k"))
    assert content(store)["indices"] == {"i": {}}


# add_indexers


def test_indexers_can_be_added_to_an_empty_store(content: Content) -> None:
    for semantics in Semantics:
        store = _indexer(semantics=semantics)
        store.add_indexers({"j": _others, "l": lambda thing: [thing.key]})
        store.add_indexers({})
        store.add(Thing("k", ["a"], ["b"]))
        assert content(store)["indices"] == {"i": {"a": ["k"]}, "j": {"b": ["k"]}, "l": {"k": ["k"]}}


def test_a_clash_of_names_adds_nothing(content: Content) -> None:
    for semantics in Semantics:
        store = new_indexer(_key, {"a": _values, "b": _values, "c": _values}, semantics=semantics)
        before = content(store)
        with pytest.raises(IndexerConflictError) as caught:
            store.add_indexers({"c": _others, "new": _others, "a": _others})
        assert caught.value.names == ("a", "c")
        assert str(caught.value).startswith("indexer conflict: a, c;")
        assert content(store) == before


def test_classic_refuses_new_indexers_on_a_store_with_objects(content: Content) -> None:
    store = _indexer()
    store.add(Thing("k", ["v"]))
    before = content(store)
    for indexers in ({"j": _others}, {"i": _others}, {}):
        # Checked before clashes, and for no indexers at all, too.
        with pytest.raises(IndexersRunningError, match=r"^cannot add indexers to running index"):
            store.add_indexers(indexers)
        assert content(store) == before
    store.delete(Thing("k"))
    store.add_indexers({"j": _others})
    assert sorted(store.get_indexers()) == ["i", "j"]


def test_current_indexes_what_is_stored(content: Content) -> None:
    store = _indexer(semantics="current")
    store.replace([Thing("k1", ["a"], ["x"]), Thing("k2", ["a"], ["x", "y"]), Thing("k3")], "5")
    store.add_indexers({"j": _others})
    assert content(store)["indices"] == {"i": {"a": ["k1", "k2"]}, "j": {"x": ["k1", "k2"], "y": ["k2"]}}
    assert store.last_sync_resource_version() == "5"
    store.update(Thing("k1", ["b"], ["y"]))
    store.delete(Thing("k2"))
    assert content(store)["indices"] == {"i": {"b": ["k1"]}, "j": {"y": ["k1"]}}
    with pytest.raises(IndexerConflictError):
        store.add_indexers({"j": _others, "l": _others})
    assert "l" not in store.get_indexers()


@pytest.mark.parametrize("function", [None, "j", 5])
def test_new_indexers_must_be_callable(function: Any, content: Content) -> None:
    store = _indexer(semantics="current")
    store.add(Thing("k", ["v"]))
    before = content(store)
    with pytest.raises(InvalidIndexerError):
        store.add_indexers({"good": _others, "j": function})
    assert content(store) == before


@pytest.mark.parametrize("bad", [RuntimeError("boom"), "text", ["a", 5]])
def test_new_indexers_that_fail_for_a_stored_object_are_not_added(bad: Any, content: Content) -> None:
    def function(thing: Thing) -> Any:
        if thing.key != "k2":
            return ["fine"]
        if isinstance(bad, Exception):
            raise bad
        return bad

    store = _indexer(semantics="current")
    store.replace([Thing("k1", ["a"]), Thing("k2", ["b"]), Thing("k3", ["b"])])
    before = content(store)
    with pytest.raises(IndexFuncError) as caught:
        store.add_indexers({"good": _others, "failing": function})
    assert (caught.value.key, caught.value.index_name) == ("k2", "failing")
    assert content(store) == before
    # The store works on, with the index functions it had.
    store.add(Thing("k2", ["c"]))
    assert content(store)["indices"] == {"i": {"a": ["k1"], "b": ["k3"], "c": ["k2"]}}
    store.add_indexers({"failing": _others})
    assert sorted(store.get_indexers()) == ["failing", "i"]


# Agreement with a model that keeps nothing but a dict


class _Naive:
    """Computes every answer from scratch."""

    def __init__(self) -> None:
        self.items: dict[str, Thing] = {}
        self.functions: dict[str, Any] = {"i": _values, "j": _others}

    def indices(self) -> dict[str, dict[str, list[str]]]:
        return {
            name: {
                value: sorted(key for key, thing in self.items.items() if value in function(thing))
                for value in {value for thing in self.items.values() for value in function(thing)}
            }
            for name, function in self.functions.items()
        }


_few_values = st.lists(st.sampled_from("abc"), max_size=3)
_things = st.builds(Thing, st.sampled_from(("k1", "k2", "k3", "k4")), _few_values, _few_values)
_writes = st.one_of(
    st.tuples(st.sampled_from(("add", "update", "delete")), _things),
    st.tuples(st.just("replace"), st.lists(_things, max_size=5)),
    st.tuples(
        st.just("transaction"), st.lists(st.tuples(st.sampled_from(kcache.TransactionType), _things), max_size=5)
    ),
    st.tuples(st.just("add_indexers"), st.sampled_from(("l", "m"))),
)


@settings(max_examples=200)
@given(st.lists(_writes, max_size=25), _things)
def test_any_writes_leave_what_a_naive_model_says(
    content: Content, writes: list[tuple[str, Any]], probe: Thing
) -> None:
    store, naive = new_indexer(_key, {"i": _values, "j": _others}, semantics="current"), _Naive()
    for name, argument in writes:
        match name:
            case "add_indexers":
                if argument in naive.functions:
                    continue
                store.add_indexers({argument: _values})
                naive.functions[argument] = _values
            case "transaction":
                store.transaction(*(kcache.Transaction(kind, thing) for kind, thing in argument))
                for kind, thing in argument:
                    if kind is kcache.TransactionType.DELETE:
                        naive.items.pop(thing.key, None)
                    else:
                        naive.items[thing.key] = thing
            case "replace":
                store.replace(argument)
                naive.items = {thing.key: thing for thing in argument}
            case "delete":
                store.delete(argument)
                naive.items.pop(argument.key, None)
            case _:
                getattr(store, name)(argument)
                naive.items[argument.key] = argument
        seen = content(store)
        assert seen["objects"] == {key: id(thing) for key, thing in naive.items.items()}
        assert seen["indices"] == naive.indices()
        matching = [thing for thing in naive.items.values() if set(thing.values) & set(probe.values)]
        assert sorted(map(id, store.index("i", probe))) == sorted(map(id, matching))


def _churn(count: int) -> Iterator[Thing]:
    generator = random.Random(1)
    for number in range(count):
        yield Thing(f"k{generator.randrange(5)}", [f"unique-{number}", f"other-{number}"])


def test_short_lived_values_leave_nothing_behind() -> None:
    store = _indexer()
    for thing in _churn(2000):
        store.add(thing)
    assert len(store.list_index_func_values("i")) == 2 * len(store.list()) == 10
    for thing in store.list():
        store.delete(thing)
    assert store.list_index_func_values("i") == []


def test_manifests_with_the_ready_made_functions() -> None:
    store = new_indexer(
        meta_namespace_key_func,
        {kcache.NAMESPACE_INDEX: kcache.meta_namespace_index_func, "label": kcache.label_index_func},
    )
    pod = {"metadata": {"name": "x", "namespace": "a", "labels": {"app": "web"}, "resourceVersion": "7"}}
    node = {"metadata": {"name": "n"}}
    store.add(pod)
    store.add(node)
    assert store.by_index("namespace", "a") == [pod]
    assert store.by_index("namespace", "") == [node]
    assert sorted(store.list_index_func_values("label")) == ["app", "app=web"]
