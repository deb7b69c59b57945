"""Data races: what nothing orders is told with both lines; what a lock, a thread or the library orders is none."""

import itertools
import random
import textwrap
from pathlib import Path

import pytest

from kcache_model.finding import FindingKind
from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.events import ACQUIRE, READ, RELEASE, SPAWN, WRITE
from kcache_stress.engine.search import SearchLimits, search
from kcache_stress.engine.strategy import Coverage
from kcache_stress.judgement.data_races import DataRaceJudge, data_races
from kcache_stress.modules.copies import Copies
from kcache_stress.target.scenario_runner import Scenario, ScenarioRunner
from kcache_stress.target.scenarios import SCENARIO_JUDGE

HEAD = """
import functools
import queue
import threading
from concurrent.futures import ThreadPoolExecutor

class Box:
    value = left = None

def setup():
    box, lock, other, event, cond = Box(), threading.Lock(), threading.Lock(), threading.Event(), threading.Condition()
    things, table, items, simple = [], {}, queue.Queue(), queue.SimpleQueue()
    count = 0
"""

RACES = {
    "a write and a read": ("box.value = 1", "box.value", "Box.value"),
    "two writes": ("box.value = 1", "box.value = 2", "Box.value"),
    "another lock": ("with lock: box.value = 1", "with other: box.value = 2", "Box.value"),
    "one lock only": ("with lock: box.value = 1", "box.value", "Box.value"),
    "the lock was given back": (
        "with lock: pass\n        box.value = 1",
        "with lock: pass\n        box.value",
        "Box.value",
    ),
    "an event that is not asked": ("box.value = 1; event.set()", "box.value; event.is_set()", "Box.value"),
    "after the put": ("items.put(1); box.value = 1", "items.get(); box.value", "Box.value"),
    "a closure variable": ("nonlocal count; count = 1", "count", "the variable count"),
    "one key": ("table['a'] = 1", "table.get('a')", "a dict"),
    "a size": ("table['a'] = 1", "len(table)", "a dict"),
    "a loop": ("things.append(1)", "[one for one in things]", "a list"),
    "a thread that is not waited for": (
        "def work(): box.value = 1\n"
        "        thread = threading.Thread(target=work); thread.start(); box.value; thread.join()",
        "pass",
        "Box.value",
    ),
}

ORDERED = {
    "one lock": ("with lock: box.value = 1", "with lock: box.value"),
    "two reads": ("box.value", "box.value"),
    "two attributes": ("box.value = 1", "box.left = 2"),
    "two keys": ("table['a'] = 1", "table['b'] = 1"),
    "two additions": ("things.append(1)", "things.append(2)"),
    "an event that is waited for": ("box.value = 1; event.set()", "event.wait(); box.value"),
    "an event that is asked": ("box.value = 1; event.set()", "if event.is_set(): box.value"),
    "before the put": ("box.value = 1; items.put(1)", "items.get(); box.value"),
    "before a simple put": ("box.value = 1; simple.put(1)", "simple.get(); box.value"),
    "a condition": (
        "with cond: box.value = 1; cond.notify()",
        "with cond:\n            while box.value is None: cond.wait()\n            box.value = 2",
    ),
    "a thread that is waited for": (
        "def work(): box.value = 1\n"
        "        box.value = 0; thread = threading.Thread(target=work); thread.start(); thread.join(); box.value",
        "pass",
    ),
    "a pool": (
        "def work(): box.value = 1\n        with ThreadPoolExecutor(1) as pool: pool.submit(work).result(); box.value",
        "pass",
    ),
}


def raced(folder: Path, first: str, second: str):
    """What the judge says of the two statements in two threads, whatever the order."""
    threads = "".join(f"    def {name}():\n        {body}\n" for name, body in (("one", first), ("two", second)))
    file = folder / "raced.py"
    file.write_text(textwrap.dedent(HEAD) + threads + "    return [one, two]\n", encoding="utf-8")
    scenario = Scenario((), lambda load: load(file).setup())
    runner = ScenarioRunner(scenario, Copies((), folder=folder))
    result = search(runner, Dpor(), DataRaceJudge(SCENARIO_JUDGE, runner), SearchLimits(2_000))
    assert result.problem is not None or result.coverage is not Coverage.BUDGET_SPENT
    return result.problem


@pytest.mark.parametrize("name", RACES)
def test_what_nothing_orders_is_told(tmp_path, name):
    first, second, place = RACES[name]
    problem = raced(tmp_path, first, second)
    assert problem is not None
    assert problem.kind is FindingKind.DATA_RACE
    assert problem.summary.startswith(f"{place} is accessed by thread ")
    assert problem.summary.count("raced.py:") == 2
    assert problem.summary.endswith(", and nothing orders these accesses")


@pytest.mark.parametrize("name", ORDERED)
def test_what_something_orders_is_none(tmp_path, name):
    assert raced(tmp_path, *ORDERED[name]) is None


class Thing:
    """Something that threads access, or a lock."""


def drawn(seed: int, threads: int = 4, length: int = 24):
    """A trace of threads that take and give back locks, start each other, and access things."""
    draw = random.Random(seed)
    locks, things = [Thing() for _ in range(2)], [Thing() for _ in range(3)]
    held: dict[int, Thing] = {}
    started, trace = [0, 1], []
    while len(trace) < length:
        thread = draw.choice(started)
        if draw.random() < 0.35:
            trace.append((thread, draw.choice((READ, WRITE)), draw.choice(things), "x"))
        elif thread in held:
            trace.append((thread, RELEASE, held.pop(thread), True))
        elif len(started) < threads and draw.random() < 0.2:
            trace.append((thread, SPAWN, Thing(), len(started)))
            started.append(len(started))
        elif free := [lock for lock in locks if lock not in held.values()]:
            held[thread] = draw.choice(free)
            trace.append((thread, ACQUIRE, held[thread], None))
    return trace


def by_definition(trace) -> set[int]:
    """The things with two accesses, one of them a write, between which no path of orders leads."""
    count = len(trace)
    ordered = [[False] * count for _ in range(count)]
    for one, other in itertools.combinations(range(count), 2):
        (by, kind, obj, slot), (thread, later, again, _) = trace[one], trace[other]
        gives_way = kind == RELEASE and later == ACQUIRE and obj is again
        ordered[one][other] = by == thread or gives_way or (kind == SPAWN and slot == thread)
    for middle, one, other in itertools.product(range(count), repeat=3):
        ordered[one][other] = ordered[one][other] or (ordered[one][middle] and ordered[middle][other])
    return {
        id(trace[one][2])
        for one, other in itertools.combinations(range(count), 2)
        if trace[one][1] + trace[other][1] > 0
        and max(trace[one][1], trace[other][1]) <= WRITE
        and trace[one][2] is trace[other][2]
        and not ordered[one][other]
    }


@pytest.mark.parametrize("seed", range(60))
def test_what_is_told_is_what_the_definition_says(seed):
    trace = drawn(seed)
    assert {id(obj) for _, _, (obj, _) in data_races(trace, 4)} == by_definition(trace)


def test_some_of_them_race_and_some_do_not():
    races = [len(by_definition(drawn(seed))) for seed in range(60)]
    assert min(races) == 0
    assert max(races) == 3


def test_what_the_harness_does_is_none(tmp_path):
    """Its modules are copied, too, where they call what is explored."""
    assert raced(tmp_path, "box.value = 1", "box.value = 2") is not None
    harness = tmp_path / "kcache_model"
    harness.mkdir()
    assert raced(harness, "box.value = 1", "box.value = 2") is None
