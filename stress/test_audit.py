"""The audit: each thread is interrupted at each place of the code as it is, so the search may be blind to a part."""

import importlib
import sys
import threading
from dataclasses import replace

import pytest

from kcache_stress.engine.audit import AuditBudget, AuditShare
from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.search import SearchLimits, search
from kcache_stress.engine.strategy import Coverage
from kcache_stress.modules.copies import Copies
from kcache_stress.runtime.threads.opcode_tracer import switch_points
from kcache_stress.runtime.threads.scheduler import Scheduler
from kcache_stress.strategies.place_coverage import PlaceCoverage
from kcache_stress.target import investigation
from kcache_stress.target.investigation import investigate
from kcache_stress.target.reproducing import RunnerAndJudge
from kcache_stress.target.scenario_runner import SCENARIO_JUDGE, Scenario, ScenarioRunner

PRIVATE_WORK = """
def private_work(seed):
    text = []
    numbers = {}
    for i in range(4):
        word = "w" + str(i + seed)
        text.append(word.upper())
        numbers[word] = len(word) + i
        if word in numbers:
            numbers[word] += 1
        first, rest = word[0], word[1:]
        text.extend([first, rest])
    total = sum(numbers.values())
    pairs = [(one, len(one)) for one in text if one]
    table = dict(pairs)
    for key, value in table.items():
        total += value
        if total % 2:
            total -= 1
    ordered = sorted(pairs, key=lambda pair: pair[1])
    head, *tail = "".join(one for one, _ in ordered)
    while tail:
        head += tail.pop()
    return head[::-1], total
"""

COUNTER = f"""
import threading
{PRIVATE_WORK}

class Counter:
    def __init__(self):
        self.unseen = 0
        self.lock = threading.Lock()

def make():
    return Counter()

def add(counter):
    private_work(1)
    LOCK
        value = counter.unseen
        counter.unseen = value + 1
    private_work(2)

THREADS = [add, add]

def check(counter):
    return None if counter.unseen == 2 else f"lost: {{counter.unseen}}"
"""

RACE = COUNTER.replace("LOCK", "if True:")
TWIN = COUNTER.replace("LOCK", "with counter.lock:")

AGEING = TWIN.replace("import threading", "import threading\n\nAGE = memoryview(bytearray(1))", 1).replace(
    "def check(counter):\n    return None",
    "def check(counter):\n    AGE[0] += 1\n    return 'old' if AGE[0] > 8 else None",
)
"""Nothing restores the bytes behind a view: the ninth execution and all later ones fail, whatever the threads do."""


@pytest.fixture
def audited(tmp_path, monkeypatch):
    """A function that searches a program with an instrumentation that misses the attribute `unseen`, and audits it."""
    monkeypatch.syspath_prepend(tmp_path)
    access = Scheduler.access

    def blind(self, obj, slot, kind):
        if slot != "unseen":
            access(self, obj, slot, kind)

    monkeypatch.setattr(Scheduler, "access", blind)
    monkeypatch.setattr(investigation, "gap_in_reports", lambda *_: "")  # the observer would see the attribute

    def explore(name, text, budget):
        (tmp_path / f"{name}.py").write_text(text)
        shared, modules = [], []

        def setup(load):
            shared.clear()
            modules[:] = [load(name)]
            shared.append(modules[0].make())
            return [lambda work=work: work(shared[0]) for work in modules[0].THREADS]

        scenario = Scenario((name,), setup, lambda _: modules[0].check(shared[0]))
        copies = Copies((name,), Granularity.FREE)

        def open_runner(at):
            return _Opened(ScenarioRunner(scenario, copies.at(at)))

        return investigate(open_runner, lambda _: [(Dpor(), 1_000)], budget=budget)

    return explore


class _Opened:
    def __init__(self, runner):
        self.runner = runner

    def __enter__(self):
        return RunnerAndJudge(self.runner, SCENARIO_JUDGE)

    def __exit__(self, *_):
        self.runner.clean_up()


WHOLE = AuditShare(is_single=True).due(10.0)


def test_a_race_that_the_search_cannot_see_is_found_among_much_other_code(audited):
    blind = audited("alone", RACE, AuditBudget(0, 0, 1))
    assert blind.coverage is Coverage.EXHAUSTED  # the search alone, and one execution of the audit: no proof at all
    found = audited("race", RACE, WHOLE)
    assert found.problem is not None
    assert "lost: 1" in found.problem.summary
    assert found.granularity is Granularity.OPCODES


def test_its_correct_twin_is_exhausted_and_all_places_are_covered(audited):
    twin = audited("twin", TWIN, WHOLE)
    assert (twin.problem, twin.coverage) == (None, Coverage.EXHAUSTED)
    assert twin.audited.covered == twin.audited.places > 100
    assert str(twin.audited) == f"{twin.audited.covered} of {twin.audited.places} places"


def test_what_the_audit_finds_must_also_occur_in_new_modules(audited):
    aged = audited("ageing", AGEING, WHOLE)
    assert (aged.problem, aged.coverage) == (None, Coverage.NO_PROOF)
    assert aged.note.startswith("it fails only after earlier executions have changed what its modules hold: old")


LATER = f"""
import threading
{PRIVATE_WORK}

class Counter:
    unseen, is_same = 0, True

def make():
    return Counter()

def start_both(counter):
    def change():
        counter.unseen = 1

    def look_twice():
        private_work(1)
        before = counter.unseen
        counter.is_same = before == counter.unseen

    threads = [threading.Thread(target=change), threading.Thread(target=look_twice)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

THREADS = [start_both]

def check(counter):
    return None if counter.is_same else "changed"
"""
"""Only a preemption of the thread that is started last shows the race, while the other one has not begun."""


def test_threads_that_are_started_later_are_interrupted_while_the_others_have_not_ended(audited):
    found = audited("later", LATER, replace(WHOLE, draws=0))
    assert found.problem is not None
    assert "changed" in found.problem.summary


def test_a_search_whose_audit_is_cut_short_is_no_proof(audited):
    cut = audited("cut", TWIN, AuditBudget(20, 10**9, 1, is_required=True))
    assert cut.coverage is Coverage.NO_PROOF
    assert cut.note == f"{cut.audited} audited"
    assert 0 < cut.audited.covered <= 20 < cut.audited.places


def test_a_series_is_audited_in_part(audited):
    some = audited("some", TWIN, AuditShare(thorough=0, _saved=10_000).due(10.0))
    assert some.coverage is Coverage.EXHAUSTED
    assert 0 < some.audited.covered < some.audited.places


def test_the_budget_is_a_number_of_opcodes():
    assert AuditShare(is_single=True).due(20.0).events == 2 * AuditShare(is_single=True).due(10.0).events
    assert AuditShare(is_single=True).due(0.1).events > 0
    series = AuditShare()
    thorough = [series.due(10.0) for _ in range(3)]
    assert len(set(thorough)) == 1
    for _ in range(5):
        series.spend(100, is_audited=True)
    assert series.due(10.0).executions == 0
    series.spend(1_000, is_audited=False)
    assert 0 < series.due(10.0).executions < 20


HANDED_OVER = """
import threading

class Shared:
    def __init__(self):
        self.begun, self.done = threading.Lock(), threading.Lock()
        self.items = []

def make():
    shared = Shared()
    shared.begun.acquire()
    shared.done.acquire()
    return shared

def work(s):
    s.begun.acquire()
    for number in (1, 2):
        s.items.append(number)
        s.items.append(len(s.items))
        s.items.insert(0, s.items[-1])
    s.done.release()
    return s.items[:]

def order(s):
    s.items.append(0)
    s.begun.release()
    s.done.acquire()
    return s.items.pop()

THREADS = [work, order]
"""


class TryingAll(PlaceCoverage):
    """Place coverage that does not skip a place."""

    def _skip(self):
        pass


def test_places_at_which_no_other_thread_can_go_on_cost_one_execution(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "handed_over.py").write_text(HANDED_OVER)
    shared = []

    def setup(load):
        module = load("handed_over")
        shared[:] = [module.make()]
        return [lambda work=work: work(shared[0]) for work in module.THREADS]

    runner = ScenarioRunner(Scenario(("handed_over",), setup), Copies(("handed_over",), Granularity.OPCODES))

    def covered(strategy):
        outcomes = set()
        result = search(
            runner, strategy, None, SearchLimits(5_000), on_execution=lambda run: outcomes.add(runner.outcome(run))
        )
        assert result.coverage is Coverage.BOUND_REACHED
        assert strategy.covered == strategy.places
        return result.executions, strategy.places, outcomes

    some, everything = covered(PlaceCoverage()), covered(TryingAll())
    assert some[1:] == everything[1:]
    assert len(some[2]) > 1
    assert some[0] < everything[0] / 2


def test_a_function_that_touches_nothing_has_a_place():
    def identity(value):
        return value

    def touching(value):
        return value.name

    assert len(switch_points(identity.__code__, with_gil=False)) == 1
    assert switch_points(touching.__code__, with_gil=False)
    lock = threading.Lock()

    def closure():
        return lock

    assert switch_points(closure.__code__, with_gil=False)


HARNESS_CODE = """
import abc
import dataclasses

@dataclasses.dataclass
class Result:
    value: int

def result(value):
    return Result(value)
"""


def test_code_that_the_harness_runs_within_a_call_has_no_places(tmp_path, monkeypatch):
    """Otherwise a call without an event of its own would seem to begin when its result is wrapped."""
    from kcache_model.outcomes import Outcome
    from kcache_stress.runtime.threads import opcode_tracer

    def frames_of(module):
        seen = []
        sys.settrace(lambda frame, *_: seen.append(frame))
        try:
            module()
        finally:
            sys.settrace(None)
        return [frame for frame in seen if frame.f_code.co_name == "__init__"]

    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_results.py").write_text(HARNESS_CODE)
    own = importlib.import_module("own_results")
    assert [opcode_tracer._is_generated_by_harness(frame) for frame in frames_of(lambda: Outcome(1))] == [True]
    assert [opcode_tracer._is_generated_by_harness(frame) for frame in frames_of(lambda: own.result(1))] == [False]
