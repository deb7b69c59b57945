"""Recorded choice trees of random programs: a whole tree passes the rules, a tree that lacks an outcome does not."""

import random

import pytest

from kcache_conformance.verification.choice_tree_rules import ForgedTreeError, check_tree
from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.recorded_search import RecordedDpor
from kcache_stress.engine.search import SearchLimits, search
from kcache_stress.engine.strategy import Ending
from kcache_stress.modules.copies import Copies
from kcache_stress.strategies.naive import Naive
from kcache_stress.target.scenario_runner import Scenario, ScenarioRunner

HEAD = """
import threading

class Shared:
    def __init__(self):
        self.x = self.y = 0
        self.list = []
        self.one, self.two = threading.Lock(), threading.Lock()

def make():
    return Shared()
"""

STEPS = (
    "seen.append(s.x)",
    "s.x = {n}",
    "s.y += 1",
    "seen.append(s.y)",
    "s.list.append({n})",
    "seen.append(len(s.list))",
    "seen.append(s.one.acquire(blocking=False)) or (s.one.release() if seen[-1] else None)",
    "seen.append(s.two.locked())",
    "s.one, s.two = s.one, s.two",
)
LOCKED = ("with s.one:", "with s.two:")


def threads_of(draw):
    """The text of a module with two or three threads of a few steps each, some under locks."""
    text = HEAD
    count = draw.choice((2, 2, 3))
    for thread in range(count):
        text += f"\ndef thread{thread}(s):\n    seen = []\n"
        for n in range(draw.randint(1, 3 if count == 2 else 2)):
            indent = "    "
            for lock in draw.sample(LOCKED, draw.choice((0, 0, 1, 1, 2))):
                text += f"{indent}{lock}\n"
                indent += "    "
            text += f"{indent}{draw.choice(STEPS).format(n=10 * thread + n + 1)}\n"
        text += "    return seen\n"
    return text + f"\nTHREADS = [{', '.join(f'thread{n}' for n in range(count))}]\n", count


@pytest.fixture
def explored(tmp_path, monkeypatch):
    """A function that searches a program with a strategy; returns the outcomes, or None if it took too long."""
    monkeypatch.syspath_prepend(tmp_path)

    def explore(name, text, strategy, most=4_000):
        (tmp_path / f"{name}.py").write_text(text)
        shared = []

        def setup(load):
            module = load(name)
            shared[:] = [module.make()]
            return [lambda work=work: work(shared[0]) for work in module.THREADS]

        runner = ScenarioRunner(Scenario((name,), setup), Copies((name,), Granularity.FREE))
        outcomes = set()
        done = search(
            runner, strategy, None, SearchLimits(most), on_execution=lambda run: outcomes.add(runner.outcome(run))
        )
        return outcomes if done.executions < most else None

    return explore


@pytest.mark.parametrize("seed", range(12))
def test_the_tree_of_a_whole_search_passes(seed, explored):
    text, count = threads_of(random.Random(seed))
    strategy = RecordedDpor()
    outcomes = explored(f"whole{seed}", text, strategy)
    record = strategy.record()
    assert strategy.is_finished
    assert "unchecked" not in record
    assert len(check_tree(record, count)) == len(strategy.executions)
    everything = explored(f"whole{seed}", text, Naive())  # None for 2 of the 12 programs, which have too many orders
    assert everything is None or outcomes == everything


class Forgetful(RecordedDpor):
    """A search that forgets some of the choices that races require."""

    def __init__(self, seed):
        super().__init__()
        self.draw = random.Random(seed)
        self.forgotten = 0

    def _reverse(self, schedule, depth, thread, initials):
        if self.draw.random() < 0.2:
            self.forgotten += 1
        else:
            super()._reverse(schedule, depth, thread, initials)


class Sleepy(RecordedDpor):
    """A search whose actors stay asleep although something happens that they depend on."""

    def _wake(self, trace):
        self._woken_up_to = len(trace)


@pytest.mark.parametrize("seed", range(12))
def test_a_search_that_loses_an_outcome_is_refused(seed, explored):
    text, count = threads_of(random.Random(seed))
    outcomes = explored(f"lossy{seed}", text, RecordedDpor())
    for strategy in (*(Forgetful(number) for number in range(6)), Sleepy()):
        some = explored(f"lossy{seed}", text, strategy)
        try:
            check_tree(strategy.record(), count)
        except ForgedTreeError:
            continue
        assert some == outcomes, type(strategy).__name__


def test_a_search_that_forgets_a_deadlock_is_refused(explored):
    text, count = threads_of(random.Random(12))
    strategy = Forgetful(4)
    lost = explored("whole", text, RecordedDpor()) - explored("forgetful", text, strategy)
    assert lost == {Ending.DEADLOCK}
    with pytest.raises(ForgedTreeError, match="does not have the other order"):
        check_tree(strategy.record(), count)
