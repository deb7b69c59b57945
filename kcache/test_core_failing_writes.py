from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from kcache import (
    Cache,
    IndexFuncError,
    InvalidObjectError,
    KcacheError,
    KeyFuncError,
    ThreadSafeMap,
    TransformError,
    new_indexer,
    new_store,
    new_thread_safe_store,
)

Content = Callable[[Any], dict[str, object]]


@dataclass(eq=False)
class Thing:
    key: Any
    value: Any = "v"
    resource_version: str = "1"
    name: str = ""
    namespace: str = ""

    def __str__(self) -> str:
        return f"Thing({self.key})"


class BoomError(Exception):
    """What failing functions raise."""


class KeyBoomError(Exception):
    """What the failing key function raises."""


def _key(thing: Thing) -> Any:
    if isinstance(thing.key, Exception):
        raise thing.key
    return thing.key


def _good(thing: Thing) -> list[str]:
    return ["all", thing.key]


def _failing(thing: Thing) -> Any:
    if isinstance(thing.value, Exception):
        raise thing.value
    return thing.value if thing.value is None or not isinstance(thing.value, str) else [thing.value]


def _text(thing: Thing) -> Any:
    return thing.value.text if isinstance(thing.value, _Returns) else ["fine"]


@dataclass
class _Returns:
    text: Any


# The failing function is neither the first nor the last one, so that a write that goes index by index is found out.
_INDEXERS: dict[str, Any] = {"first": _good, "failing": _failing, "last": _good}

_BAD_VALUES: list[tuple[Any, str]] = [
    (BoomError("boom"), "boom"),
    (KeyError("label"), "'label'"),
    (BoomError(), ""),
    (5, "an index function must return a list of str, not a int"),
    (True, "an index function must return a list of str, not a bool"),
    ({"a"}, "an index function must return a list of str, not a set"),
    ({"a": "b"}, "an index function must return a list of str, not a dict"),
    (b"ab", "an index function must return a list of str, not a bytes"),
    (iter(["a"]), "an index function must return a list of str, not a list_iterator"),
    ([5], "an index function must return a list of str, but it holds a int"),
    (["a", None], "an index function must return a list of str, but it holds a NoneType"),
    (["a", ["b"]], "an index function must return a list of str, but it holds a list"),
    (("a", b"b"), "an index function must return a list of str, but it holds a bytes"),
]
_IDS = [type(value).__name__ for value, _ in _BAD_VALUES]


def _filled(**options: Any) -> Cache[Any]:
    store: Cache[Any] = new_indexer(_key, _INDEXERS, **options)
    store.replace([Thing("k", "v"), Thing("j", "v"), Thing("i", "w")], "5")
    return store


_WRITES: dict[str, Callable[[Cache[Any], Thing], None]] = {
    "add": lambda store, bad: store.add(bad),
    "update": lambda store, bad: store.update(bad),
    "replace": lambda store, bad: store.replace([Thing("new", "x"), bad, Thing("newer", "y")], "9"),
}


@pytest.mark.parametrize("write", _WRITES.values(), ids=_WRITES)
@pytest.mark.parametrize("key", ["new", "k"])
@pytest.mark.parametrize(("value", "cause"), _BAD_VALUES, ids=_IDS)
def test_an_index_function_that_fails(
    write: Callable[[Any, Thing], None], key: str, value: Any, cause: str, content: Content
) -> None:
    store = _filled()
    before = content(store)
    with pytest.raises(IndexFuncError) as caught:
        write(store, Thing(key, value))
    assert str(caught.value) == f'unable to calculate an index entry for key "{key}" on index "failing": {cause}'
    assert (caught.value.key, caught.value.index_name) == (key, "failing")
    assert caught.value.__cause__ is caught.value.cause
    if isinstance(value, Exception):
        assert caught.value.cause is value
    else:
        assert isinstance(caught.value.cause, TypeError)
    assert content(store) == before
    # The lock is free, and the next write of that key works.
    store.add(Thing(key, "better"))
    assert store.index_keys("failing", "better") == [key]


@pytest.mark.parametrize("write", _WRITES.values(), ids=_WRITES)
def test_a_str_in_place_of_a_list(write: Callable[[Any, Thing], None], content: Content) -> None:
    store: Cache[Any] = new_indexer(_key, {"first": _good, "text": _text})
    store.replace([Thing("k"), Thing("j")], "5")
    before = content(store)
    with pytest.raises(IndexFuncError) as caught:
        write(store, Thing("k", _Returns("node-1")))
    assert str(caught.value) == (
        'unable to calculate an index entry for key "k" on index "text": an index function must return a list of str,'
        " not the str 'node-1'; put it into a list"
    )
    assert content(store) == before


@pytest.mark.parametrize(
    "probe_value", [pytest.param(value, id=name) for (value, _), name in zip(_BAD_VALUES, _IDS, strict=True)]
)
def test_index_with_a_probe_that_fails(probe_value: Any, content: Content) -> None:
    store = _filled()
    before = content(store)
    if isinstance(probe_value, Exception):
        # What the function raises comes through as it is.
        with pytest.raises(type(probe_value)) as raised:
            store.index("failing", Thing("probe", probe_value))
        assert raised.value is probe_value
    else:
        with pytest.raises(IndexFuncError) as caught:
            store.index("failing", Thing("probe", probe_value))
        assert caught.value.key is None
        assert caught.value.index_name == "failing"
        assert isinstance(caught.value.cause, TypeError)
        assert str(caught.value).startswith(
            'unable to calculate an index entry for the given object on index "failing": an index function must return'
        )
    assert content(store) == before


def test_lookups_by_value_never_call_the_index_function() -> None:
    store: Cache[Any] = _filled()
    for thing in store.list():
        thing.value = BoomError("must not be called")
    assert sorted(thing.key for thing in store.by_index("failing", "v")) == ["j", "k"]
    assert store.index_keys("failing", "v") == ["j", "k"]
    assert sorted(store.list_index_func_values("failing")) == ["v", "w"]
    store.delete(Thing("k"))
    assert store.index_keys("failing", "v") == ["j"]


_KEY_CALLS: dict[str, Callable[[Cache[Any], Any], Any]] = {
    **_WRITES,
    "delete": lambda store, bad: store.delete(bad),
    "get": lambda store, bad: store.get(bad),
    "get with a default": lambda store, bad: store.get(bad, "default"),
}


@pytest.mark.parametrize("call", _KEY_CALLS.values(), ids=_KEY_CALLS)
def test_a_key_function_that_fails(call: Callable[[Any, Any], Any], content: Content) -> None:
    store = _filled()
    before = content(store)
    cause = KeyBoomError("no key")
    bad = Thing(cause)
    with pytest.raises(KeyFuncError) as caught:
        call(store, bad)
    assert str(caught.value) == "couldn't create key for object Thing(no key): no key"
    assert caught.value.obj is bad
    assert caught.value.cause is cause
    assert caught.value.__cause__ is cause
    assert content(store) == before


@pytest.mark.parametrize("call", _KEY_CALLS.values(), ids=_KEY_CALLS)
@pytest.mark.parametrize(
    ("key", "type_name"), [(None, "NoneType"), (5, "int"), (b"k", "bytes"), (["k"], "list"), (("a", "b"), "tuple")]
)
def test_a_key_that_is_no_str(call: Callable[[Any, Any], Any], key: Any, type_name: str, content: Content) -> None:
    store = _filled()
    before = content(store)
    with pytest.raises(KeyFuncError, match=rf": a key function must return a str, not a {type_name}$") as caught:
        call(store, Thing(key))
    assert isinstance(caught.value.cause, TypeError)
    assert content(store) == before


@pytest.mark.parametrize("write", _WRITES.values(), ids=_WRITES)
def test_none_cannot_be_stored(write: Callable[[Any, Any], None], content: Content) -> None:
    called: list[object] = []

    def index_func(obj: Any) -> list[str]:
        called.append(obj)
        return [obj.value]

    store: Cache[Any] = new_indexer(lambda obj: obj.key if obj else "k", {"i": index_func})
    store.replace([Thing("k"), Thing("j")], "5")
    before = content(store)
    with pytest.raises(InvalidObjectError) as caught:
        write(store, None)
    assert caught.value.key == "k"
    assert str(caught.value) == 'cannot store None under key "k"; use delete to remove an object'
    assert content(store) == before
    assert None not in called
    store.delete(None)
    assert store.list_keys() == ["j"]


def test_none_cannot_be_stored_by_the_caller_of_a_thread_safe_map(content: Content) -> None:
    storage: ThreadSafeMap[Any] = new_thread_safe_store({"i": lambda obj: [obj.value]})
    storage.add("k", Thing("x"))
    before = content(storage)
    writes: list[Callable[[], None]] = [
        lambda: storage.add("k", None),
        lambda: storage.update("new", None),
        lambda: storage.replace({"new": Thing("y"), "k": None}, "7"),
    ]
    for write in writes:
        with pytest.raises(InvalidObjectError):
            write()
        assert content(storage) == before


@pytest.mark.parametrize("write", _WRITES.values(), ids=_WRITES)
def test_a_transformer_that_fails(write: Callable[[Any, Thing], None], content: Content) -> None:
    cause = BoomError("boom")

    def transformer(thing: Thing) -> Thing:
        if thing.value == "bad":
            raise cause
        return thing

    store = _filled(transformer=transformer)
    before = content(store)
    with pytest.raises(TransformError) as caught:
        write(store, Thing("k", "bad"))
    assert str(caught.value) == "transforming: boom"
    assert caught.value.cause is cause
    assert caught.value.__cause__ is cause
    assert content(store) == before


@pytest.mark.parametrize("write", _WRITES.values(), ids=_WRITES)
def test_a_transformer_that_gives_nothing(write: Callable[[Any, Thing], None], content: Content) -> None:
    store = _filled(transformer=lambda thing: None if thing.value == "bad" else thing)
    before = content(store)
    with pytest.raises(InvalidObjectError):
        write(store, Thing("k", "bad"))
    assert content(store) == before


def test_the_transformer_runs_after_the_key_and_before_the_index_functions(content: Content) -> None:
    made: list[Thing] = []

    def transformer(thing: Thing) -> Thing:
        made.append(Thing(thing.key + "-t", "stripped", "7"))
        return made[-1]

    store: Cache[Thing] = new_indexer(_key, {"i": _failing}, transformer=transformer)
    store.add(Thing("k", BoomError("not for the original")))
    assert store.get_by_key("k") is made[0]
    assert content(store)["indices"] == {"i": {"stripped": ["k"]}}
    assert store.last_sync_resource_version() == "7"
    store.update(Thing("k"))
    assert store.get_by_key("k") is made[1]
    store.replace([Thing("a"), Thing("b")], "9")
    assert {key: store.get_by_key(key) for key in store.list_keys()} == {"a": made[2], "b": made[3]}
    assert store.last_sync_resource_version() == "9"
    # Reading, deleting and index lookups leave it alone.
    store.get(Thing("a"))
    store.index("i", Thing("probe", "stripped"))
    store.delete(Thing("a"))
    assert len(made) == 4
    assert store.list() == [made[3]]
    plain: Cache[Thing] = new_store(_key, transformer=transformer)
    plain.add(Thing("k"))
    assert plain.list() == [made[4]]


def test_the_key_is_checked_before_the_transformer_runs() -> None:
    seen: list[object] = []
    store: Cache[Any] = new_store(_key, transformer=seen.append)
    with pytest.raises(KeyFuncError):
        store.add(Thing(None))
    assert seen == []


def test_replace_with_an_iterator_that_fails(content: Content) -> None:
    def objects() -> Iterator[Thing]:
        yield Thing("new")
        raise BoomError("the source failed")

    store = _filled()
    before = content(store)
    with pytest.raises(BoomError, match=r"^the source failed$"):
        store.replace(objects(), "9")
    assert content(store) == before


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_interrupts_come_through_and_change_nothing(interrupt: type[BaseException], content: Content) -> None:
    armed = False

    def index_func(thing: Thing) -> list[str]:
        if armed:
            raise interrupt
        return [thing.value]

    store: Cache[Thing] = new_indexer(_key, {"i": index_func}, semantics="current")
    store.add(Thing("k"))
    before = content(store)
    armed = True
    for call in (
        lambda: store.add(Thing("k", "w")),
        lambda: store.replace([Thing("j")]),
        lambda: store.index("i", Thing("k")),
        lambda: store.add_indexers({"j": index_func}),
    ):
        with pytest.raises(interrupt):
            call()
        assert content(store) == before
    armed = False
    store.add(Thing("k", "w"))
    assert store.list_index_func_values("i") == ["w"]


def test_all_errors_of_a_store_have_one_base() -> None:
    store = _filled()
    for call in (
        lambda: store.add(Thing(None)),
        lambda: store.add(Thing("k", 5)),
        lambda: store.by_index("nope", "v"),
        lambda: store.add_indexers({"first": _good}),
    ):
        with pytest.raises(KcacheError):
            call()
