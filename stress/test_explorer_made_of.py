"""Which packages are instrumented with a target: those of what it makes, and those that it names."""

import sys
from pathlib import Path
from typing import Any

import pytest

from kcache_model.errors import TargetError
from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item
from kcache_model.indexers.program import Program
from kcache_stress.indexers.exploration import explored_indexer
from kcache_stress.target.explore import Explored, ExploreOptions, explore

STORE = """
import threading

class Store:
    def __init__(self, key_func, indexers):
        self._key, self._indexers, self._items, self._lock = key_func, dict(indexers), {}, LOCK

    def update(self, obj):
        with self._lock:
            self._items = {**self._items, self._key(obj): obj}

    add = update

    def delete(self, obj):
        with self._lock:
            self._items = {key: value for key, value in self._items.items() if key != self._key(obj)}

    def list_keys(self):
        return list(self._items)

    def list(self):
        return list(self._items.values())

    def get_by_key(self, key, default=None):
        return self._items.get(key, default)

    def by_index(self, name, value):
        with self._lock:
            return [obj for obj in self._items.values() if value in self._indexers[name](obj)]
"""
LOCKS = {"right": "threading.RLock()", "faulty": "contextlib.nullcontext()"}
"""The lock of the store, and one that lets everybody in."""

TARGET = """
from elsewhere_store import Store

class Wrapping:
    def __init__(self, key_func, indexers):
        self._calls = 0
        self._store = Store(key_func, {name: self._counted(function) for name, function in indexers.items()})

    def _counted(self, function):
        def call(obj):
            self._calls += 1
            return function(obj)
        return call

    def __getattr__(self, name):
        return getattr(self._store, name)

new_indexer = Wrapping
new_indexer.kcache_unsupported = UNSUPPORTED
"""
SUPPORTED = {"add", "update", "delete", "list_keys", "list", "get_by_key", "by_index"}
UNSUPPORTED = sorted({name.value for name in op.OperationName} - SUPPORTED)


def item(key: str) -> Item:
    """An object with one value in the index."""
    return Item(key, f"v{key}", {"node": ("n1",)})


MOVE = Program(("node",), (op.add(item("a")),), ((op.add(item("b")),), (op.add(item("c")),)))


@pytest.fixture(params=LOCKS)
def fault(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str) -> Any:
    """A target whose store lies in another folder."""
    elsewhere, here = tmp_path / "elsewhere", tmp_path / "here"
    elsewhere.mkdir()
    here.mkdir()
    text = STORE.replace("LOCK\n", LOCKS[fault] + "\n").replace("import threading", "import contextlib, threading")
    (elsewhere / "elsewhere_store.py").write_text(text)
    (here / "wrapping.py").write_text(TARGET.replace("UNSUPPORTED", repr(UNSUPPORTED)))
    monkeypatch.syspath_prepend(elsewhere)
    yield here / "wrapping.py"
    sys.modules.pop("elsewhere_store", None)


def explored(file: Path) -> Explored:
    return explore(explored_indexer(f"{file}:new_indexer"), MOVE, ExploreOptions(executions=2_000, minimise_seconds=0))


def test_the_store_that_a_target_holds_is_instrumented_wherever_it_lies(target: Path, fault: str) -> None:
    result = explored(target)
    assert (result.finding is None, result.is_exhausted) == (fault == "right", fault == "right")


@pytest.mark.parametrize("fault", ["right"], indirect=True)
def test_what_is_seen_is_recorded(target: Path) -> None:
    seen = explored_indexer(f"{target}:new_indexer").sandbox.seen
    assert seen.instrumented == ("elsewhere_store", "kcache_target_wrapping")
    assert (seen.virtual, seen.opaque, seen.native) == ((), (), ())


@pytest.mark.parametrize("fault", ["right"], indirect=True)
@pytest.mark.parametrize("where", ["module", "factory"])
def test_a_target_may_name_packages_that_belong_to_it(target: Path, where: str) -> None:
    """One that is only met later, in a function, cannot be seen otherwise."""
    (target.parent.parent / "elsewhere" / "elsewhere_later.py").write_text("VALUES = []\n")
    declared = {"module": "", "factory": "new_indexer."}[where] + 'kcache_instrument = ("elsewhere_later",)\n'
    target.write_text(target.read_text() + declared + "import elsewhere_later\n")
    assert "elsewhere_later" in explored_indexer(f"{target}:new_indexer").sandbox.seen.instrumented
    target.write_text(target.read_text().replace('"elsewhere_later"', '"nowhere_to_be_found"'))
    with pytest.raises(TargetError, match="no package nowhere_to_be_found"):
        explored_indexer(f"{target}:new_indexer")


@pytest.mark.parametrize("fault", ["right"], indirect=True)
def test_what_cannot_be_instrumented_is_virtual_at_least(target: Path) -> None:
    """A package that does not like to be imported anew from source that was rewritten."""
    store = target.parent.parent / "elsewhere" / "elsewhere_store.py"
    store.write_text(store.read_text() + "assert '_kc_mark' not in globals()\n")
    seen = explored_indexer(f"{target}:new_indexer").sandbox.seen
    assert (seen.instrumented, seen.virtual) == (("kcache_target_wrapping",), ("elsewhere_store",))
    result = explored(target)
    assert result.finding is None
