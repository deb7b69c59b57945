"""What the store promises to threads, and to functions that call it back.

Every call that might hang is made in a daemon thread and waited for with a limit, so that these tests end in any case.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from kcache import (
    Cache,
    IndexerConflictError,
    IndexFuncError,
    ThreadSafeMap,
    Transaction,
    TransactionError,
    TransactionType,
    new_indexer,
    new_thread_safe_store,
)

Content = Callable[[Any], dict[str, object]]

_LIMIT_SECONDS = 20


@dataclass(eq=False)
class Thing:
    key: str
    value: str = "v"
    resource_version: str = ""
    name: str = ""
    namespace: str = ""


def _key(thing: Thing) -> str:
    return thing.key


def _value(thing: Thing) -> list[str]:
    return [thing.value]


class _Call(threading.Thread):
    """A call in a thread of its own."""

    def __init__(self, function: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._function = function
        self._result: Any = None
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._result = self._function()
        except BaseException as error:
            self._error = error

    def result(self) -> Any:
        self.join(_LIMIT_SECONDS)
        assert not self.is_alive(), f"still waiting after {_LIMIT_SECONDS} s"
        if self._error is not None:
            raise self._error
        return self._result


def _within_limit(function: Callable[[], Any]) -> Any:
    return _Call(function).result()


# Functions that call the store back

_READS: dict[str, Callable[[Cache[Thing]], object]] = {
    "get": lambda store: store.get(Thing("k")),
    "get_by_key": lambda store: store.get_by_key("k"),
    "list": lambda store: store.list(),
    "list_keys": lambda store: store.list_keys(),
    "by_index": lambda store: store.by_index("plain", "v"),
    "index_keys": lambda store: store.index_keys("plain", "v"),
    "index": lambda store: store.index("plain", Thing("probe")),
    "list_index_func_values": lambda store: store.list_index_func_values("plain"),
    "get_indexers": lambda store: store.get_indexers(),
    "last_sync_resource_version": lambda store: store.last_sync_resource_version(),
}

_SIDE_WRITES: dict[str, Callable[[Cache[Thing]], None]] = {
    "add": lambda store: store.add(Thing("side")),
    "update": lambda store: store.update(Thing("side")),
    "delete": lambda store: store.delete(Thing("side")),
    "bookmark": lambda store: store.bookmark("1"),
    "resync": lambda store: store.resync(),
    "transaction": lambda store: store.transaction(Transaction(TransactionType.ADD, Thing("side"))),
    "replace": lambda store: store.replace([Thing("k"), Thing("side")]),
}

_ENTRIES: dict[str, Callable[[Cache[Thing], Thing], object]] = {
    "add": lambda store, thing: store.add(thing),
    "update": lambda store, thing: store.update(thing),
    "replace": lambda store, thing: store.replace([thing]),
    "transaction": lambda store, thing: store.transaction(Transaction(TransactionType.ADD, thing)),
    "index": lambda store, thing: store.index("calling", thing),
}


@pytest.mark.parametrize("entry", _ENTRIES.values(), ids=_ENTRIES)
@pytest.mark.parametrize("call", [*_READS.values(), *_SIDE_WRITES.values()], ids=[*_READS, *_SIDE_WRITES])
def test_index_functions_may_call_the_store(
    entry: Callable[[Any, Thing], object], call: Callable[[Any], object], content: Content
) -> None:
    depth = 0
    calls = 0

    def calling(thing: Thing) -> list[str]:
        nonlocal depth, calls
        if depth == 0:
            depth += 1
            try:
                call(store)
                calls += 1
            finally:
                depth -= 1
        return [thing.value]

    store = new_indexer(_key, {"plain": _value, "calling": calling})
    depth = 1
    store.replace([Thing("k"), Thing("side")])
    depth = 0
    trigger = Thing("trigger", "w")
    _within_limit(lambda: entry(store, trigger))
    assert calls == 1
    if entry is not _ENTRIES["index"]:
        assert store.get_by_key("trigger") is trigger
        assert store.index_keys("plain", "w") == ["trigger"]
    _within_limit(lambda: content(store))


@pytest.mark.parametrize("entry", _ENTRIES.values(), ids=_ENTRIES)
def test_key_functions_and_transformers_may_call_the_store(entry: Callable[[Any, Thing], object]) -> None:
    calls: list[str] = []

    def key(thing: Thing) -> str:
        if thing.key == "trigger":
            calls.append("key")
            store.add(Thing("from the key function"))
        return thing.key

    def transformer(thing: Thing) -> Thing:
        if thing.key == "trigger":
            calls.append("transformer")
            store.delete(Thing("k"))
        return thing

    store = new_indexer(key, {"calling": _value}, transformer=transformer)
    store.add(Thing("k"))
    _within_limit(lambda: entry(store, Thing("trigger")))
    expected = {"transaction": ["key"], "index": []}
    name = next(name for name, function in _ENTRIES.items() if function is entry)
    assert calls == expected.get(name, ["key", "transformer"])


def test_an_index_function_may_add_an_index_while_an_object_is_added(content: Content) -> None:
    # The values computed before no longer fit the indices: they are computed again.
    seen: list[str] = []

    def calling(thing: Thing) -> list[str]:
        seen.append(thing.key)
        if "late" not in store.get_indexers():
            store.add_indexers({"late": lambda thing: [thing.key]})
        return [thing.value]

    store = new_indexer(_key, {"calling": calling}, semantics="current")
    _within_limit(lambda: store.add(Thing("k")))
    assert seen == ["k", "k"]
    assert content(store)["indices"] == {"calling": {"v": ["k"]}, "late": {"k": ["k"]}}


@pytest.mark.parametrize("entry", ["replace", "transaction"])
def test_the_same_in_a_write_of_several_objects(entry: str, content: Content) -> None:
    def calling(thing: Thing) -> list[str]:
        if "late" not in store.get_indexers():
            store.add_indexers({"late": lambda thing: [thing.key]})
        return [thing.value]

    store = new_indexer(_key, {"calling": calling}, semantics="current")
    _within_limit(lambda: _ENTRIES[entry](store, Thing("k")))
    assert content(store)["indices"] == {"calling": {"v": ["k"]}, "late": {"k": ["k"]}}


def test_a_failing_function_leaves_no_lock_behind() -> None:
    def failing(thing: Thing) -> list[str]:
        raise ValueError("boom")

    store: Cache[Any] = new_indexer(_key, {"plain": _value}, semantics="current")
    store.add(Thing("k"))
    with pytest.raises(IndexFuncError):
        store.add_indexers({"failing": failing})
    with pytest.raises(IndexerConflictError):
        store.add_indexers({"plain": _value})
    with pytest.raises(TransactionError):
        store.transaction(Transaction(TransactionType.ADD, None))
    _within_limit(lambda: store.add(Thing("j")))
    assert sorted(_within_limit(store.list_keys)) == ["j", "k"]
    assert _within_limit(store.last_sync_resource_version) == ""


# Threads that do not wait for one another


class _Gate:
    """An index function that can be held up."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self._opened = threading.Event()

    def __call__(self, thing: Thing) -> list[str]:
        if thing.key == "slow":
            self.entered.set()
            assert self._opened.wait(_LIMIT_SECONDS)
        return [thing.value]

    def open(self) -> None:
        self._opened.set()


@pytest.fixture
def gate() -> Iterator[_Gate]:
    gate = _Gate()
    yield gate
    gate.open()


@pytest.mark.parametrize("entry", _ENTRIES.values(), ids=_ENTRIES)
def test_a_slow_index_function_stops_nobody_else(entry: Callable[[Any, Thing], object], gate: _Gate) -> None:
    store = new_indexer(_key, {"plain": _value, "calling": gate})
    store.replace([Thing("k"), Thing("side")])
    slow = _Call(lambda: entry(store, Thing("slow")))
    assert gate.entered.wait(_LIMIT_SECONDS)
    for call in [*_READS.values(), *_SIDE_WRITES.values()]:
        _within_limit(partial(call, store))
    assert store.get_by_key("slow") is None
    assert slow.is_alive()
    gate.open()
    slow.result()
    if entry is not _ENTRIES["index"]:
        assert store.index_keys("calling", "v").count("slow") == 1


def test_writes_made_meanwhile_count_for_index(gate: _Gate) -> None:
    store = new_indexer(_key, {"calling": gate})
    store.add(Thing("before"))
    lookup = _Call(lambda: store.index("calling", Thing("slow")))
    assert gate.entered.wait(_LIMIT_SECONDS)
    store.delete(Thing("before"))
    meanwhile = Thing("meanwhile")
    store.add(meanwhile)
    gate.open()
    assert lookup.result() == [meanwhile]


def test_of_two_writes_of_a_key_the_later_one_to_finish_wins(gate: _Gate, content: Content) -> None:
    overtaken, quick = Thing("slow", "a"), Thing("quick", "b")
    storage: ThreadSafeMap[Thing] = new_thread_safe_store({"calling": gate})
    slow = _Call(lambda: storage.add("k", overtaken))
    assert gate.entered.wait(_LIMIT_SECONDS)
    storage.add("k", quick)
    assert storage.get("k") is quick
    gate.open()
    slow.result()
    assert storage.get("k") is overtaken
    assert content(storage)["indices"] == {"calling": {"a": ["k"]}}


def test_add_indexers_lets_a_waiting_write_use_the_new_index(gate: _Gate, content: Content) -> None:
    # An object whose values were computed before the index existed must not be stored without a place in it.
    store = new_indexer(_key, {"calling": gate}, semantics="current")
    store.add(Thing("k"))
    slow = _Call(lambda: store.add(Thing("slow", "w")))
    assert gate.entered.wait(_LIMIT_SECONDS)
    store.add_indexers({"late": lambda thing: [thing.key]})
    gate.open()
    slow.result()
    assert content(store)["indices"] == {
        "calling": {"v": ["k"], "w": ["slow"]},
        "late": {"k": ["k"], "slow": ["slow"]},
    }


_WAITING_WRITES: dict[str, tuple[Callable[[Cache[Thing]], None], dict[str, list[str]]]] = {
    "add": (lambda store: store.add(Thing("new", "n")), {"k": ["k"], "side": ["side"], "new": ["new"]}),
    "update": (lambda store: store.update(Thing("k", "n")), {"k": ["k"], "side": ["side"]}),
    "delete": (lambda store: store.delete(Thing("k")), {"side": ["side"]}),
    "replace": (lambda store: store.replace([Thing("new")]), {"new": ["new"]}),
    "transaction": (
        lambda store: store.transaction(
            Transaction(TransactionType.ADD, Thing("new")), Transaction(TransactionType.DELETE, Thing("side"))
        ),
        {"k": ["k"], "new": ["new"]},
    ),
    "add_indexers": (lambda store: store.add_indexers({"later": _value}), {"k": ["k"], "side": ["side"]}),
}


@pytest.mark.parametrize(("write", "expected"), _WAITING_WRITES.values(), ids=_WAITING_WRITES)
def test_writes_wait_while_add_indexers_goes_through_the_objects(
    write: Callable[[Cache[Thing]], None], expected: dict[str, list[str]], gate: _Gate, content: Content
) -> None:
    store = new_indexer(_key, {"plain": _value}, semantics="current")
    store.replace([Thing("k"), Thing("side")])

    def late(thing: Thing) -> list[str]:
        gate(Thing("slow"))
        return [thing.key]

    adding = _Call(lambda: store.add_indexers({"late": late}))
    assert gate.entered.wait(_LIMIT_SECONDS)
    writing = _Call(partial(write, store))
    writing.join(0.05)
    assert writing.is_alive()
    assert _within_limit(lambda: store.get_by_key("k")) is not None
    gate.open()
    adding.result()
    writing.result()
    indices: Any = content(store)["indices"]
    assert indices["late"] == expected
    assert ("later" in indices) == (write is _WAITING_WRITES["add_indexers"][0])


def test_delete_of_a_thread_safe_map_waits_too(gate: _Gate, content: Content) -> None:
    storage: ThreadSafeMap[Thing] = new_thread_safe_store({"plain": _value}, semantics="current")
    storage.replace({"k1": Thing("slow"), "k2": Thing("slow")})
    adding = _Call(lambda: storage.add_indexers({"late": gate}))
    assert gate.entered.wait(_LIMIT_SECONDS)
    deleting = _Call(lambda: storage.delete("k1"))
    deleting.join(0.05)
    assert deleting.is_alive()
    gate.open()
    adding.result()
    deleting.result()
    assert content(storage)["indices"] == {"plain": {"v": ["k2"]}, "late": {"v": ["k2"]}}


# Threads under load: short, the stress runner does this for long


@pytest.fixture
def quick_switches() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("quick_switches")
@pytest.mark.parametrize("write", ["transaction", "replace"])
def test_readers_see_all_of_a_write_or_none(write: str) -> None:
    """Each write gives all objects one common value; no reader may ever see two values at once."""
    store = new_indexer(_key, {"i": _value})
    keys = [f"k{number}" for number in range(6)]

    def write_generation(generation: str) -> None:
        things = [Thing(key, generation) for key in keys]
        if write == "replace":
            store.replace(things)
        else:
            store.transaction(*(Transaction(TransactionType.UPDATE, thing) for thing in things))

    write_generation("0")
    written = threading.Event()

    def writer() -> None:
        try:
            for generation in range(1, 3000):
                write_generation(str(generation))
        finally:
            written.set()

    def reader() -> None:
        while True:
            last = written.is_set()
            listed = store.list()
            assert len(listed) == len(keys)
            assert len({thing.value for thing in listed}) == 1
            (value,) = store.list_index_func_values("i")
            assert store.index_keys("i", value) in ([], keys)
            assert len(store.by_index("i", value)) in (0, len(keys))
            for first, second in itertools.pairwise((*keys, *keys)):
                # What was seen of a write, no later look may miss.
                earlier, later = store.get_by_key(first), store.get_by_key(second)
                assert earlier is not None
                assert later is not None
                assert int(earlier.value) <= int(later.value)
            if last:
                return

    for call in [_Call(writer), _Call(reader), _Call(reader)]:
        call.result()
    assert len(store.list_index_func_values("i")) == 1


@pytest.mark.usefixtures("quick_switches")
def test_no_write_is_lost(content: Content) -> None:
    store = new_indexer(_key, {"i": _value, "key": lambda thing: [thing.key]})
    threads, objects = 4, 150

    def writer(number: int) -> None:
        for count in range(objects):
            store.add(Thing(f"{number}-{count}", str(count % 3)))
            if count % 2:
                store.delete(Thing(f"{number}-{count}"))
            store.update(Thing("shared", str(number)))

    for call in [_Call(partial(writer, number)) for number in range(threads)]:
        call.result()
    kept = sorted(f"{number}-{count}" for number in range(threads) for count in range(0, objects, 2))
    assert sorted(store.list_keys()) == [*kept, "shared"]
    assert sorted(store.list_index_func_values("key")) == sorted(store.list_keys())
    content(store)
