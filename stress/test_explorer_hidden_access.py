"""Accesses that are easily overlooked: through views, C functions, generators, caches. What DPOR says must stand.

Each fault is found by the reduction, or the explorer says that something depends on what it cannot see; the same code
under the lock is exhausted, and nothing is found.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item
from kcache_model.indexers.operations import Operation
from kcache_model.indexers.program import Program
from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.strategy import Coverage
from kcache_stress.indexers.exploration import explored_indexer
from kcache_stress.target.explore import Explored, ExploreOptions, explore

TARGETS = Path(__file__).parents[1] / "examples" / "targets"

HEAD = """
import ast, collections, contextlib, copy, functools, itertools, operator, threading, types
from textbook import TextbookIndexer

class Shards:
    def __init__(self):
        self.all = [{{}}, {{}}]
    def __mod__(self, key):
        return self.all[ord(key[-1]) % 2]

SPACE = {{}}
exec("def look(store, key): return store._items.get(key)", SPACE)

def numbers():
    count = 0
    while True:
        count += 1
        yield count

class Indexer(TextbookIndexer):
    def __init__(self, *given):
        super().__init__(*given)
        self._view = types.MappingProxyType(self._items)
        self._chain = collections.ChainMap(self._items, {{}})
        self._shards = Shards()
        self._numbers = numbers()
        self._marks = memoryview(bytearray(256))
        self._cached = functools.lru_cache(None)(self._look)

    def _look(self, key):
        with self._lock:
            return self._items.get(key)

    def _put(self, key, obj, values):
        self._items.pop(key, None)
        self._marks[ord(key[-1])] = 0
        shard = self._shards % key
        shard.pop(key, None)
        super()._put(key, obj, values)
        shard[key] = obj
        self._marks[ord(key[-1])] = 1
        self._cached.cache_clear()

    def guard(self):
        return {guard}

{body}

def new_indexer(key_func, indexers, semantics="classic"):
    return Indexer(key_func, indexers, semantics)
"""

READS = {
    "a view": ("get_by_key", "key", "self._view.get(key)"),
    "all of a view": ("list_keys", "", "list(self._view)"),
    "a deep copy": ("list_keys", "", "[key for key in copy.deepcopy(vars(self._shards))['all'][1]]"),
    "a text": ("list_keys", "", "list(ast.literal_eval(repr([sorted(part) for part in self._shards.all]))[1])"),
    "a text of it all": ("list_keys", "", "['a'] if \"'a'\" in repr(self._shards.all) else []"),
    "a chain": ("list_keys", "", "list(itertools.chain.from_iterable(self._shards.all))"),
    "a chain of maps": ("get_by_key", "key", "self._chain.get(key)"),
    "an operator": ("get_by_key", "key", "(self._shards % key).get(key)"),
    "a partial": ("list_keys", "", "[key for key, there in zip('a', map(functools.partial(operator.contains, "
                  "self._items), 'a')) if there]"),
    "a memory view": ("list_keys", "", "['a'] if self._marks[ord('a')] else []"),
    "made by exec": ("get_by_key", "key", "SPACE['look'](self, key)"),
}  # fmt: skip

BODY = """
def {name}(self{parameters}):
    with self.guard():
        return {value}
Indexer.{name} = {name}
"""


def explored(folder: Path, body: str, program: Program, *, locked: bool = False) -> Explored:
    (folder / "textbook.py").write_text((TARGETS / "textbook.py").read_text())
    guard = "self._lock" if locked else "contextlib.nullcontext()"
    (folder / "made.py").write_text(HEAD.format(body=body, guard=guard))
    subject = explored_indexer(f"{folder / 'made.py'}:new_indexer")
    return explore(subject, program, ExploreOptions(strategy="dpor", minimise_seconds=0.2))


def item(stamp: str, value: str = "n1") -> Item:
    return Item("a", stamp, {"node": (value,)})


def while_updated(*reads: Operation) -> Program:
    return Program(("node",), (op.add(item("v1")),), ((op.update(item("v2")),), reads))


READ_OF = {"get_by_key": op.get_by_key("a"), "list_keys": op.list_keys()}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", READS)
def test_a_read_without_the_lock_is_found(tmp_path: Path, name: str) -> None:
    call, parameter, value = READS[name]
    body = BODY.format(name=call, parameters=f", {parameter}" if parameter else "", value=value)
    found = explored(tmp_path, body, while_updated(READ_OF[call]))
    assert found.finding is not None


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", READS)
def test_the_same_read_with_the_lock_is_fine(tmp_path: Path, name: str) -> None:
    call, parameter, value = READS[name]
    body = BODY.format(name=call, parameters=f", {parameter}" if parameter else "", value=value)
    found = explored(tmp_path, body, while_updated(READ_OF[call]), locked=True)
    proven = Coverage.NO_PROOF if name == "made by exec" else Coverage.EXHAUSTED  # what a text does cannot be seen
    assert (found.finding, found.coverage) == (None, proven), found.note


GENERATOR = """
def add(self, obj):
    with self.guard():
        next(self._numbers)
    TextbookIndexer.add(self, obj)
Indexer.add = add
"""
BOTH_ADD = Program(("node",), (), ((op.add(item("v1")),), (op.add(item("v2")),)))


def test_a_generator_that_is_already_executing(tmp_path: Path) -> None:
    found = explored(tmp_path, GENERATOR, BOTH_ADD)
    assert found.finding is not None
    assert "already executing" in found.finding.summary


def test_a_generator_under_the_lock(tmp_path: Path) -> None:
    found = explored(tmp_path, GENERATOR, BOTH_ADD, locked=True)
    assert (found.finding, found.coverage) == (None, Coverage.EXHAUSTED)


CACHE = """
def get_by_key(self, key):
    with self.guard():
        return self._cached(key)
Indexer.get_by_key = get_by_key
"""


def test_a_cache_that_keeps_what_was_there_before(tmp_path: Path) -> None:
    found = explored(tmp_path, CACHE, while_updated(op.get_by_key("a"), op.get_by_key("a")))
    assert found.finding is not None


def test_a_cache_under_the_lock(tmp_path: Path) -> None:
    found = explored(tmp_path, CACHE, while_updated(op.get_by_key("a"), op.get_by_key("a")), locked=True)
    assert (found.finding, found.coverage) == (None, Coverage.EXHAUSTED)


def test_a_dependence_that_cannot_be_seen_is_told(tmp_path: Path) -> None:
    """The orders in which it shows are too many for a quick look: the explorer must not call them covered."""
    body = """
def replace(self, objs, resource_version=""):
    items = {self._key_of(obj): obj for obj in objs}
    self.__dict__["_items"] = {}
    self.__dict__["_items"] = items
Indexer.replace = replace
"""
    program = Program((), (op.add(item("v1")),), ((op.replace((item("v2"),)),), (op.get_by_key("a"),)))
    found = explored(tmp_path, body, program)
    assert found.finding is not None or (found.note and found.coverage is not Coverage.EXHAUSTED)


BOXES = {
    "an enum": "Color.RED",
    "a module": "types.ModuleType('box')",
    "a function": "lambda: 0",
}

MEMORY = """
import enum, types
from textbook import TextbookIndexer

class Color(enum.Enum):
    RED = 1

BOX = {box}

class Indexer(TextbookIndexer):
    def delete(self, obj):
        with self._lock:
            BOX.x = "deleted"
            self._drop(self._key_of(obj))

def new_indexer(key_func, indexers, semantics="classic"):
    return Indexer(key_func, indexers, semantics)
"""


AFTER_THE_BLOCK = """
def delete(self, obj):
    key = self._key_of(obj)
    with self._lock:
        self._unlink(key)
    self._items.pop(key, None)

def _unlink(self, key):
    for index in self._indices.values():
        for keys in index.values():
            keys.discard(key)

Indexer.delete, Indexer._unlink = delete, _unlink
"""


def test_threads_are_switched_after_a_with_block_under_the_gil_too(tmp_path: Path) -> None:
    (tmp_path / "textbook.py").write_text((TARGETS / "textbook.py").read_text())
    (tmp_path / "made.py").write_text(HEAD.format(body=AFTER_THE_BLOCK, guard="self._lock"))
    subject = explored_indexer(f"{tmp_path / 'made.py'}:new_indexer", granularity=Granularity.GIL)
    program = Program(("node",), (op.add(item("v1")),), ((op.delete(item("v2")),), (op.add(item("v3")),)))
    found = explore(subject, program, ExploreOptions(granularity=Granularity.GIL, minimise_seconds=0.2))
    assert found.finding is not None
