"""What an execution leaves in a module is no secret: the next one would begin with it."""

import textwrap

import pytest

from kcache_stress.explorer.granularity import REWRITTEN
from kcache_stress.explorer.scenarios import Scenario, explore_scenario
from kcache_stress.explorer.strategies.interface import Coverage

CODE = """
import functools
import threading

names, made, ready = ["first"], {"n": 0}, None
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

def nothing():
    return len(names) + len(Store.limits)

def forget():
    global ready
    names[:], made["n"], ready, Store.made = ["first"], 0, None, 0
    Store.limits.clear()
    remembered.cache_clear()
"""

LEFT = {
    "append": "names",
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


@pytest.mark.parametrize("call", LEFT)
@pytest.mark.parametrize("granularity", REWRITTEN)
def test_what_stays_in_a_module_is_named(tmp_path, call, granularity):
    result = explored(tmp_path, call, granularity, forget=False)
    told = result.note or (result.problem.summary if result.problem else "")
    assert f"kcache_target_keeping.{LEFT[call]} keeps what an execution left" in told
    assert result.coverage is not Coverage.EXHAUSTED


@pytest.mark.parametrize("call", [*LEFT, "nothing"])
@pytest.mark.parametrize("granularity", REWRITTEN)
def test_what_setup_makes_anew_is_none_of_it(tmp_path, call, granularity):
    result = explored(tmp_path, call, granularity, forget=True)
    assert (result.coverage, result.note, result.problem) == (Coverage.EXHAUSTED, "", None)


def test_a_module_that_keeps_nothing_proves_what_it_can(tmp_path):
    assert explored(tmp_path, "nothing", REWRITTEN[0], forget=False).coverage is Coverage.EXHAUSTED
