"""What an execution leaves in a module is no secret: the next one would begin with it."""

import textwrap

import pytest

from kcache_stress.engine.granularity import REWRITTEN, Granularity
from kcache_stress.engine.strategy import Coverage
from kcache_stress.target.scenarios import Scenario, explore_scenario

CODE = """
import functools
import itertools
import threading

names, made, ready = ["first"], {"n": 0}, None
ids, turns = itertools.count(1), itertools.cycle("ab")
lock = threading.Lock()

class Store:
    limits = {}
    made = 0

    def grow(self):
        Store.made += 1

    def put(self):
        self.limits["n"] = self.limits.get("n", 0) + 1

def append():
    with lock:
        names.append("another")

def nested():
    made["n"] += 1

def lazily():
    global ready
    if ready is None:
        ready = object()

@functools.cache
def remembered():
    return len(names)

def counted():
    with lock:
        return next(ids)

def in_turn():
    with lock:
        return next(turns)

def nothing():
    return len(names) + len(Store.limits)

def forget():
    global ready, ids
    ids = itertools.count(1)
    names[:], made["n"], ready, Store.made = ["first"], 0, None, 0
    Store.limits.clear()
    remembered.cache_clear()
"""

LEFT = {
    "append": "names",
    "counted": "ids",
    "nested": "made",
    "lazily": "ready",
    "remembered": "remembered",
    "Store.put": "Store.limits",
    "Store.grow": "Store.made",
}


def explored(folder, call, granularity, *, forget):
    path = folder / "keeping.py"
    path.write_text(textwrap.dedent(CODE))

    def setup(load):
        module = load(path)
        if forget:
            module.forget()
        if "." not in call:
            return [getattr(module, call)] * 2
        method = call.partition(".")[2]
        return [lambda: getattr(module.Store(), method)()] * 2

    return explore_scenario(Scenario((), setup), granularity=granularity)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("call", "name"), [*LEFT.items(), ("in_turn", "turns")])
@pytest.mark.parametrize("granularity", REWRITTEN)
def test_what_stays_in_a_module_is_named(tmp_path, call, name, granularity):
    result = explored(tmp_path, call, granularity, forget=False)
    told = result.note or (result.problem.summary if result.problem else "")
    assert f"kcache_target_keeping.{name} keeps state from one execution to the next" in told
    assert result.coverage is not Coverage.EXHAUSTED


@pytest.mark.one_in(2)
@pytest.mark.parametrize("call", [*LEFT, "nothing"])
@pytest.mark.parametrize("granularity", REWRITTEN)
def test_what_setup_makes_anew_is_none_of_it(tmp_path, call, granularity):
    result = explored(tmp_path, call, granularity, forget=True)
    assert (result.coverage, result.note, result.problem) == (Coverage.EXHAUSTED, "", None)


def test_a_module_that_keeps_nothing_proves_what_it_can(tmp_path):
    assert explored(tmp_path, "nothing", REWRITTEN[0], forget=False).coverage is Coverage.EXHAUSTED


@pytest.mark.parametrize("granularity", REWRITTEN)
@pytest.mark.parametrize("is_locked", [True, False])
def test_what_others_have_left_accuses_nobody(tmp_path, granularity, is_locked):
    """The first two numbers are 1 and 2 each time the module is new; without the lock both may be 1."""
    path = tmp_path / "numbers.py"
    path.write_text(
        "import threading\n"
        "lock, last = threading.Lock(), [0]\n"
        "def following(number):\n"
        "    return number + 1\n"
        "def taken():\n"
        "    last[0] = following(last[0])\n"
        "    return last[0]\n"
        "def locked():\n"
        "    with lock:\n"
        "        return taken()\n"
    )

    def setup(load):
        module = load(path)
        return [module.locked if is_locked else module.taken] * 2

    scenario = Scenario((), setup, lambda results: None if sorted(results) == [1, 2] else f"{results}")
    result = explore_scenario(scenario, granularity=granularity)
    assert "kcache_target_numbers.last keeps state from one execution to the next" in result.note or not is_locked
    assert (result.problem is None) == (is_locked or result.coverage is Coverage.NO_PROOF)
    assert result.coverage is not Coverage.EXHAUSTED


@pytest.mark.parametrize("granularity", [Granularity.FREE, Granularity.GIL])
@pytest.mark.parametrize("kept", ["threading.local", "types.SimpleNamespace"])
def test_what_a_thread_keeps_for_itself_is_no_unknown_code(tmp_path, granularity, kept):
    """Three threads, so that those of one execution are collected while those of the next one run."""
    path = tmp_path / "keeping.py"
    path.write_text(
        "import threading, types\n"
        f"kept, lock = {kept}(), threading.Lock()\n"
        "def count():\n"
        "    kept.number = 1\n"
        "    with lock:\n"
        "        kept.number += 1\n"
        "        if kept.number != 2:\n"
        "            raise SystemError('two')\n"
    )
    result = explore_scenario(Scenario((), lambda load: [load(path).count] * 3), granularity=granularity)
    if kept == "threading.local":
        assert (result.coverage, result.note, result.problem) == (Coverage.EXHAUSTED, "", None)
    else:
        assert result.problem is not None
        assert "SystemError: two" in result.problem.summary


LAZY = """
class Settings:
    loaded = []
    def __getattribute__(self, name):
        Settings.loaded.append(name)
        raise RuntimeError("not configured")

settings, numbers = Settings(), []

def look():
    return len(numbers)

def keep():
    numbers.append(1)
"""


@pytest.mark.parametrize(("call", "is_kept"), [("look", False), ("keep", True)])
def test_a_lazy_object_is_not_made_to_load(tmp_path, call, is_kept):
    path = tmp_path / "lazy.py"
    path.write_text(LAZY)
    result = explore_scenario(Scenario((), lambda load: [getattr(load(path), call)] * 2))
    assert ("kcache_target_lazy.numbers keeps" in result.note) == is_kept
    assert result.problem is None
    assert (result.coverage is Coverage.EXHAUSTED) != is_kept


CLOCKS = """
import functools
import time

class Format:
    converter = time.localtime
    kept = staticmethod(time.gmtime)

class Cache:
    def __init__(self):
        self.timer, self.partial = time.monotonic, functools.partial(time.sleep, 0)

cache, sleeps, numbers = Cache(), {"a": time.sleep}, []

def look():
    return len(numbers), Format.converter(cache.timer()).tm_year

def keep():
    numbers.append(cache.timer())
"""


@pytest.mark.parametrize(("call", "is_kept"), [("look", False), ("keep", True)])
def test_a_clock_is_no_leftover_wherever_it_is_kept(tmp_path, call, is_kept):
    path = tmp_path / "clocks.py"
    path.write_text(CLOCKS)
    result = explore_scenario(Scenario((), lambda load: [getattr(load(path), call)] * 2))
    assert ("kcache_target_clocks.numbers keeps" in result.note) == is_kept
    assert result.problem is None
    assert is_kept or result.note == ""


LOGS = """
import logging

logger = logging.getLogger(__name__)

def write():
    logger.debug("nobody reads it")

def change():
    logger.setLevel(logger.level + 1)
"""


@pytest.mark.parametrize(("call", "is_kept"), [("write", False), ("change", True)])
def test_the_levels_that_loggers_remember_are_forgotten(tmp_path, call, is_kept):
    path = tmp_path / "logs.py"
    path.write_text(LOGS)
    result = explore_scenario(Scenario(("logging",), lambda load: [getattr(load(path), call)] * 2))
    assert ("kcache_target_logs.logger keeps" in result.note) == is_kept
    assert result.problem is None
    assert (result.coverage is Coverage.EXHAUSTED) != is_kept


REGISTERED = """
import logging
import threading
import weakref

BY_NAME = weakref.WeakValueDictionary()
log = logging.getLogger("weakly")


class Kept(logging.Handler):
    living = weakref.WeakSet()

    def __init__(self, kept):
        super().__init__()
        self.got, self.lock_of_mine = [], threading.Lock()
        Kept.living.add(self)
        BY_NAME["it"] = self
        kept.append(self)

    def emit(self, record):
        with self.lock_of_mine:
            self.got.append(record)


first = Kept([])
kept = []
"""


@pytest.mark.parametrize("where", ["weakly", "for good"])
def test_what_an_execution_enters_in_a_weak_container_is_gone_in_the_next_one(where, tmp_path, monkeypatch):
    """The trace of an execution keeps its objects alive; what the module itself keeps stays there."""
    (tmp_path / "weakly.py").write_text(REGISTERED, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    handlers = []

    def setup(load):
        module = load("weakly")
        handlers[:] = [module.Kept([] if where == "weakly" else module.kept)]
        assert handlers[0] in module.Kept.living
        assert module.first in module.Kept.living
        if where == "weakly":
            assert len(module.Kept.living) == 2
        record = module.logging.LogRecord("it", 20, "file", 1, "text", (), None)
        return [lambda: handlers[0].handle(record)] * 2

    scenario = Scenario(("weakly", "logging"), setup, lambda _: None if len(handlers[0].got) == 2 else "lost")
    result = explore_scenario(scenario, seconds=60.0, executions=200)
    assert result.problem is None
    assert ("keeps state from one execution to the next" in result.note) == (where == "for good"), result
