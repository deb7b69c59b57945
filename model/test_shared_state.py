"""State that all objects of a class share: it is restored before each object, whatever holds it."""

from __future__ import annotations

import collections
import itertools
import sys
from types import ModuleType
from typing import Any

from kcache_model.shared_state import SharedState, shared_states

SOURCE = """
import collections, functools, itertools, threading

kept = {"a": [1]}
ordered = collections.OrderedDict(b=1, a=2)
counter = collections.Counter("aab")
ids = itertools.count(5)
lock = threading.Lock()

@functools.lru_cache
def cached(key): return object()

class Registry:
    def __init__(self): self.names = set()

registry = Registry()

class Thing:
    _instance = None
    made = 0
    def __init__(self): pass
    @property
    def change(self):
        kept["a"].append(2)
        kept["b"] = 3
        ordered.move_to_end("b")
        counter["c"] += 1
        registry.names.add("x")
        Thing._instance, Thing.made, Thing.extra = self, Thing.made + 1, 1
        global lock
        lock = None
        return next(ids), cached("key")
"""


def module() -> Any:
    """A new module with all of that."""
    made = ModuleType("things_that_share")
    exec(SOURCE, made.__dict__)
    return made


def test_what_runs_have_changed_is_restored_in_place() -> None:
    things = module()
    (state,) = shared_states(things.Thing)
    kept, lock = things.kept, things.lock
    state.restore()
    assert not state.has_changed
    number, first = things.Thing().change
    assert things.Thing().change == (number + 1, first)
    state.restore()
    assert state.has_changed
    assert things.kept is kept
    assert kept == {"a": [1]}
    assert [*things.ordered] == ["b", "a"]
    assert things.counter == collections.Counter("aab")
    assert (things.registry.names, things.lock) == (set(), lock)
    assert (things.Thing._instance, things.Thing.made, hasattr(things.Thing, "extra")) == (None, 0, False)
    assert things.Thing().change[0] == number
    assert things.cached("key") is not first


def test_the_same_value_under_another_name_is_restored_each_time() -> None:
    things = module()
    things.last = object()
    (state,) = shared_states(things.Thing)
    state.restore()
    for _ in range(2):
        things.other = vars(things).pop("last")
        state.restore()
        assert hasattr(things, "last")
        assert not hasattr(things, "other")


def test_the_standard_library_stays_as_it_is() -> None:
    assert shared_states(collections.UserDict) == []
    assert shared_states(itertools.count) == []
    assert "__kcache_shared_state__" not in vars(sys.modules["collections"])


def test_changes_are_taken_back_where_they_are_still_there() -> None:
    things = module()
    state = SharedState(vars(things))
    before = things.kept, things.lock
    assert things.Thing().change
    things.registry.names.add("y")
    taken_back = list(state.changes())
    things.kept["later"] = things.Thing.made = 9
    things.registry.names.add("z")
    for take_back in taken_back:
        take_back()
    assert (things.kept, things.lock) == ({"a": [1], "later": 9}, before[1])
    assert things.kept is before[0]
    assert things.registry.names == {"z"}
    assert (things.Thing._instance, things.Thing.made, hasattr(things.Thing, "extra")) == (None, 9, False)
    assert things.counter == collections.Counter("aab")


def test_names_that_are_to_be_left_alone_do_not_count_as_changed() -> None:
    things = module()
    state = SharedState(vars(things), frozenset({"kept", "lock"}))
    things.kept["b"] = things.lock = 1
    assert not list(state.changes())
    things.counter["c"] = 1
    assert len(list(state.changes())) == 1
