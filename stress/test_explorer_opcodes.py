"""Threads that are switched at opcodes of code that nobody has rewritten."""

import dis
import sys
from pathlib import Path

import pytest

from kcache_conformance.indexers.token_replay import replay_token
from kcache_conformance.report.interleaving import interleaving_text
from kcache_conformance.targets.gallery import gallery
from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item
from kcache_model.indexers.program import Program
from kcache_model.progress import NoProgress
from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.search import SearchLimits, search
from kcache_stress.engine.strategy import Coverage
from kcache_stress.indexers.exploration import explored_indexer
from kcache_stress.indexers.program_tokens import PROGRAM_TOKENS
from kcache_stress.runtime.threads.opcode_tracer import switch_points
from kcache_stress.strategies.opcode_sampling import OpcodeSampling
from kcache_stress.target.explore import ExploreOptions, explore
from kcache_stress.target.replay_answer import ReplayAnswer
from kcache_stress.target.scenarios import Scenario, ScenarioResult, explore_scenario, replay_scenario

OPCODES, WITH_GIL = Granularity.OPCODES, Granularity.OPCODES_GIL

CODE = """
import functools
import threading
import opaque_code

class Shared:
    def __init__(self):
        self.value = 0
        self.lock = threading.Lock()
        self.box = opaque_code.Box()
        self.ready = threading.Event()
        self.worker = None

def add(s):
    s.value += 1

def add_called(s):
    value = int(s.value)
    s.value = value + 1

def add_locked(s):
    with s.lock:
        s.value += 1

def add_in_two_frames(s):
    value = s.value
    s.value = one_more(value)

def one_more(value):
    return value + 1

def add_opaquely(s):
    s.box.add()
    s.value = s.box.value

def count(s):
    "A variable of a closure: tracing must not put back what another thread has changed."
    with s.lock:
        s.bump()

def counter(s):
    value = 0
    def bump():
        nonlocal value
        value += 1
        s.value = value
    s.bump = bump

def start_two(s):
    threads = [threading.Thread(target=add, args=(s,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

def serve(s):
    s.worker = threading.Thread(target=work, args=(s,), daemon=True)
    s.worker.start()

def work(s):
    s.ready.wait()
    value = s.value
    s.value = value + 1

def wake(s):
    s.ready.set()
    add(s)
    s.worker.join()

def nothing(s):
    pass

def caught(s):
    try:
        {}[s.value]
    except KeyError:
        pass
    add_locked(s)

def spin(s):
    while s.value < 1:
        pass
    s.value += 1

def deep(s):
    try:
        deeper()
    except RecursionError:
        pass
    add_locked(s)

def deeper():
    deeper()
"""

OPAQUE = """
class Box:
    def __init__(self):
        self.value = 0

    def add(self):
        value = self.value
        self.value = value + 1
"""


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "opcode_code.py").write_text(CODE)
    (tmp_path / "opaque_code.py").write_text(OPAQUE)
    monkeypatch.delitem(sys.modules, "opaque_code", raising=False)

    def make(*threads: str, most: int, before: str = "nothing") -> Scenario:
        shared = []

        def setup(load):
            module = load("opcode_code")
            shared[:] = [module.Shared()]
            getattr(module, before)(shared[0])
            return [lambda name=name: getattr(module, name)(shared[0]) for name in threads]

        return Scenario(
            ("opcode_code",), setup, lambda _: None if shared[0].value == most else f"{shared[0].value}, not {most}"
        )

    return make


def sampled(
    scenario: Scenario, granularity: Granularity = OPCODES, executions: int = 300, seed: int = 1
) -> ScenarioResult:
    return explore_scenario(scenario, granularity=granularity, strategy="opcodes", executions=executions, seed=seed)


RACY = {
    "between two opcodes of one line": (("add", "add"), "nothing"),
    "with a frame of another function": (("add_in_two_frames", "add"), "nothing"),
    "within a package that nobody instruments": (("add_opaquely", "add_opaquely"), "nothing"),
    "in a thread that was started before": (("wake",), "serve"),
    "in threads that are started on the way": (("start_two",), "nothing"),
}


@pytest.mark.parametrize("name", RACY)
def test_a_lost_update_is_found_and_found_again(name: str, scenario) -> None:
    threads, before = RACY[name]
    wanted = scenario(*threads, before=before, most=2)
    result = sampled(wanted)
    assert result.problem is not None
    assert result.problem.summary == "1, not 2"
    assert result.preemptions <= 2
    replay = replay_scenario(wanted, result.schedule, granularity=OPCODES)
    assert replay.followed
    assert replay.problem == result.problem
    assert any("s.value" in line or "self.value" in line for line in replay.story)
    assert sampled(wanted).schedule == result.schedule


CORRECT = {
    "under a lock": (("add_locked", "add_locked"), 200, "nothing"),
    "in a closure, under a lock": (("count", "count"), 200, "counter"),
    "after an exception": (("caught", "caught"), 200, "nothing"),
    "at the end of the stack": (("deep", "add_locked"), 10, "nothing"),
    "one waits for the other": (("spin", "add_locked"), 50, "nothing"),
}


@pytest.mark.parametrize("granularity", [OPCODES, WITH_GIL])
@pytest.mark.parametrize("name", CORRECT)
def test_what_is_right_is_not_accused(name: str, granularity: Granularity, scenario) -> None:
    threads, executions, before = CORRECT[name]
    result = sampled(scenario(*threads, before=before, most=2), granularity, executions)
    assert result.problem is None
    assert result.executions == executions


@pytest.mark.parametrize(("work", "is_torn"), [("add", False), ("add_called", True)])
def test_with_a_global_lock_threads_are_left_after_calls_only(work: str, is_torn: bool, scenario) -> None:
    assert (sampled(scenario(work, work, most=2), WITH_GIL).problem is not None) == is_torn


def test_few_preemptions_are_enumerated(scenario) -> None:
    result = explore_scenario(scenario("add", "add", most=2), granularity=OPCODES, strategy="bounded", preemptions=1)
    assert result.problem is not None
    assert result.preemptions == 1
    with pytest.raises(ValueError, match='write strategy="opcodes"'):
        explore_scenario(scenario("add", "add", most=2), granularity=OPCODES)


def test_who_traced_before_does_so_afterwards(scenario) -> None:
    def trace(frame, event, arg):
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        sampled(scenario("add", "spin", most=2), executions=20)
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)


def points_of(function, *, with_gil: bool) -> set[str]:
    points = switch_points(function.__code__, with_gil=with_gil)
    return {found.opname for found in dis.get_instructions(function) if found.offset in points}


def test_switch_points() -> None:
    def local(a):
        b = a
        return [b, 1]

    def shared(a, i):
        a.x = a.y[i]
        for j in a:
            i += j
        return i

    assert points_of(local, with_gil=False) == {"LOAD_FAST"}  # the first opcode: another thread may run on entry
    assert {"STORE_ATTR", "LOAD_ATTR", "GET_ITER", "FOR_ITER", "BINARY_OP"} <= points_of(shared, with_gil=False)
    assert points_of(shared, with_gil=True) & {"STORE_ATTR", "FOR_ITER", "BINARY_OP"} == set()
    assert "JUMP_BACKWARD" in points_of(shared, with_gil=True)


FOLDER = gallery()[0].path.parent
MOVE = Program(
    ("node",),
    (op.add(Item("a", "v1", {"node": ("n1",)})),),
    ((op.update(Item("a", "v2", {"node": ("n2",)})),), (op.by_index("node", "n1"),)),
)


def test_indexers() -> None:
    """The fault is found, its word replays, and the correct one is not accused."""
    subjects = {
        name: explored_indexer(f"{FOLDER / name}.py:new_indexer", granularity=OPCODES)
        for name in ("lookup_in_two_steps", "sequence_lock")
    }
    options = ExploreOptions("opcodes", OPCODES, executions=200, minimise_seconds=0.2)
    finding = explore(subjects["lookup_in_two_steps"], MOVE, options).finding
    assert finding is not None
    assert finding.interleaving is not None
    assert "is interrupted here" in interleaving_text(finding.interleaving)
    assert "lookup_in_two_steps.py:" in interleaving_text(finding.interleaving)
    assert replay_token(PROGRAM_TOKENS.decode(finding.schedule), NoProgress()).answer is ReplayAnswer.REPRODUCED
    subject = subjects["sequence_lock"]
    runner = subject.runner(MOVE)
    result = search(runner, OpcodeSampling(0), subject.judge(MOVE, runner), SearchLimits(100))
    assert result.problem is None
    assert result.executions == 100
    assert result.coverage is Coverage.BUDGET_SPENT
