"""Scenarios: threads of any code under the explorer."""

from __future__ import annotations

import gc
import importlib
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import kcache
from kcache_model.finding import FindingKind
from kcache_stress.engine.granularity import REWRITTEN, Granularity
from kcache_stress.engine.schedule_replay import Replay
from kcache_stress.engine.strategy import Coverage
from kcache_stress.interpreter import has_gil
from kcache_stress.modules.roots import Roots
from kcache_stress.modules.sandbox import Sandbox
from kcache_stress.target.scenario_runner import ScenarioRunner
from kcache_stress.target.scenarios import Copies, Load, Scenario, ScenarioResult, explore_scenario, replay_scenario

CODE = """
import queue
import threading
import time

class Counter:
    def __init__(self):
        self.value = 0
        self.lock = threading.Lock()
        self.other = threading.Lock()
        self.done = False

    def add(self):
        self.value = self.value + 1

    def add_called(self):
        self.value = self.read() + 1

    def read(self):
        return self.value

    def add_locked(self):
        with self.lock:
            self.value = self.value + 1

    def one_way(self):
        with self.lock, self.other:
            pass

    def other_way(self):
        with self.other, self.lock:
            pass

    def spin(self):
        while not self.done:
            pass

    def finish(self):
        self.done = True

    def in_background(self):
        threading.Thread(target=self.fail).start()

    def fail(self):
        raise KeyError("gone")

    def sleep(self):
        time.sleep(3600)
        return time.monotonic()

def pass_on():
    passed = queue.Queue()
    return passed.put, passed.get
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    path = tmp_path / "counter_code.py"
    path.write_text(CODE)
    return path


def counting(path: Path, *methods: str, most: int | None = None) -> Scenario:
    """Threads that each call a method of one counter, which is to count to ``most``."""
    counters: list[Any] = []

    def setup(load: Load) -> Sequence[Callable[[], object]]:
        counters[:] = [load(path).Counter()]
        return [getattr(counters[0], method) for method in methods]

    def check(_: list[object]) -> str | None:
        value = counters[0].value
        return None if most is None or value == most else f"{value} instead of {most}"

    return Scenario((), setup, check)


def problem_of(result: ScenarioResult) -> tuple[FindingKind, str]:
    assert result.problem is not None
    return result.problem.kind, result.problem.summary


@pytest.mark.parametrize("strategy", ["dpor", "pos", "bounded"])
def test_a_failed_check_is_found_and_replayed(code: Path, strategy: Any) -> None:
    scenario = counting(code, "add", "add", most=2)
    result = explore_scenario(scenario, strategy=strategy)
    assert problem_of(result) == (FindingKind.INVARIANT, "1 instead of 2")
    assert [steps for _, steps in result.schedule] == [1, 2, 1]
    assert result.preemptions == 1
    replay = replay_scenario(scenario, result.schedule)
    assert replay.followed
    assert replay.problem == result.problem
    assert [line.partition(", ")[0] for line in replay.story] == ["thread 1", "thread 2", "thread 1"]
    assert replay.story[1].endswith("in add: self.value = self.value + 1")


@pytest.mark.parametrize("granularity", REWRITTEN)
def test_what_is_right_is_exhausted(code: Path, granularity: Granularity) -> None:
    result = explore_scenario(counting(code, "add_locked", "add_locked", most=2), granularity=granularity)
    assert result.problem is None
    assert result.coverage is Coverage.EXHAUSTED
    assert result.executions > 1


def test_granularity_tells_what_a_global_lock_hides(code: Path) -> None:
    gil = Granularity.GIL
    assert explore_scenario(counting(code, "add", "add", most=2), granularity=gil).problem is None
    assert explore_scenario(counting(code, "add_called", "add_called", most=2), granularity=gil).problem is not None


def test_an_exception_that_ends_a_thread(code: Path) -> None:
    kind, summary = problem_of(explore_scenario(counting(code, "add", "fail")))
    assert kind is FindingKind.EXCEPTION
    assert summary.startswith("thread 2 ended with KeyError: 'gone' (counter_code.py:")
    assert summary.endswith(" in fail)")


def test_an_exception_that_ends_a_thread_of_the_code_itself(code: Path) -> None:
    kind, summary = problem_of(explore_scenario(counting(code, "in_background")))
    assert kind is FindingKind.EXCEPTION
    assert summary.startswith("a thread of the code under test ended with KeyError: 'gone'")


def test_a_deadlock_says_who_waits_for_what(code: Path) -> None:
    scenario = counting(code, "one_way", "other_way")
    result = explore_scenario(scenario)
    kind, summary = problem_of(result)
    assert kind is FindingKind.DEADLOCK
    assert "thread 1 waits for lock A" in summary
    assert "held by thread 2; thread 2 waits for lock B" in summary
    assert replay_scenario(scenario, result.schedule).problem == result.problem


def test_going_round_for_ever_is_a_livelock_if_nobody_can_end_it(code: Path) -> None:
    kind, _ = problem_of(explore_scenario(counting(code, "spin")))
    assert kind is FindingKind.LIVELOCK


def test_going_round_until_another_thread_runs_is_none(code: Path) -> None:
    result = explore_scenario(counting(code, "spin", "finish"), executions=5)
    assert result.problem is None
    assert result.coverage is not Coverage.EXHAUSTED


def test_collections_of_garbage_are_no_part_of_an_execution(code: Path) -> None:
    """A tool may have put code among the callbacks of the collector, which runs wherever somebody allocates."""
    phases: list[str] = []
    seldom, callback = gc.get_threshold(), lambda phase, _: phases.append(phase)
    gc.callbacks.append(callback)
    gc.set_threshold(1)
    try:
        result = explore_scenario(counting(code, "add_locked", "add_locked", most=2))
    finally:
        gc.set_threshold(*seldom)
        gc.callbacks.remove(callback)
    assert phases or not has_gil()  # without, it collects only when there is much to collect, whatever the threshold
    assert (result.coverage, result.note) == (Coverage.EXHAUSTED, "")


POLITE = """
    import threading

    class Made:
        def __init__(self):
            self.a, self.b, self.x = threading.Lock(), threading.Lock(), 0

        def _both(self, first, second):
            while True:
                if first.acquire(blocking=False):
                    self.x
                    if second.acquire(blocking=False):
                        self.x = 1
                        second.release()
                        first.release()
                        return
                    self.x
                    first.release()

        def one(self):
            self._both(self.a, self.b)

        def other(self):
            self._both(self.b, self.a)

        def never(self):
            self.b.acquire()
    """


@pytest.mark.nightly
def test_threads_that_give_way_to_each_other_are_no_livelock_if_turns_end_it(code: Path) -> None:
    """However short the executions are that count as endless."""
    code.write_text(textwrap.dedent(POLITE))

    def scenario(*calls: str) -> Scenario:
        def setup(load: Load) -> Sequence[Callable[[], object]]:
            made = load(code).Made()
            return [getattr(made, call) for call in calls]

        return Scenario((), setup)

    result = explore_scenario(scenario("one", "other"), strategy="bounded", preemptions=1, most_events=2_000)
    assert result.problem is None
    assert problem_of(explore_scenario(scenario("one", "never"), most_events=2_000))[0] is FindingKind.LIVELOCK


def test_time_is_virtual_and_results_are_checked(code: Path) -> None:
    seen: list[object] = []

    def check(results: list[object]) -> str | None:
        seen.extend(results)
        return None

    scenario = Scenario((), lambda load: [load(code).Counter().sleep], check)
    assert explore_scenario(scenario).problem is None
    assert seen
    assert all(found == pytest.approx(3600, abs=0.001) for found in seen)


def test_setup_may_use_the_virtual_library(code: Path) -> None:
    def setup(load: Load) -> Sequence[Callable[[], object]]:
        passed = load("queue").Queue()
        return [lambda: passed.put("news"), passed.get]

    scenario = Scenario((), setup, lambda results: None if results == [None, "news"] else f"{results}")
    result = explore_scenario(scenario)
    assert result.problem is None
    assert result.coverage is Coverage.EXHAUSTED


def test_who_polls_keeps_nobody_from_sleeping() -> None:
    def setup(load: Load) -> Sequence[Callable[[], object]]:
        queue: Any = load("queue")
        time: Any = load("time")
        ended, waiting = load("threading").Event(), queue.Queue()

        def poll() -> None:
            while not ended.is_set():
                try:
                    waiting.get(timeout=0.1)
                except queue.Empty:
                    continue

        def sleep() -> None:
            for _ in range(20):
                time.sleep(1.0)
            ended.set()

        return [poll, sleep]

    result = explore_scenario(Scenario((), setup), strategy="bounded", preemptions=0, executions=20)
    assert result.problem is None


@pytest.mark.nightly
def test_what_is_long_is_replayed_at_its_length() -> None:
    def setup(load: Load) -> Sequence[Callable[[], object]]:
        lock = load("threading").Lock()

        def lock_often() -> None:
            for _ in range(12_000):
                with lock:
                    pass

        return [lock_often]

    scenario = Scenario((), setup, lambda _: "wrong")
    result = explore_scenario(scenario, strategy="pos", executions=1, most_events=50_000)
    assert problem_of(result) == (FindingKind.INVARIANT, "wrong")
    assert result.schedule
    again = replay_scenario(scenario, result.schedule, most_events=50_000)
    assert again.problem is not None
    assert again.followed


def test_a_schedule_that_was_made_up_lets_no_time_pass_while_others_could_go_on() -> None:
    def setup(load: Load) -> Sequence[Callable[[], object]]:
        time: Any = load("time")
        done = load("threading").Event()

        def wait_long() -> bool:
            for _ in range(10):
                time.sleep(1.0)
            is_done: bool = done.is_set()
            return is_done

        return [wait_long, done.set]

    scenario = Scenario((), setup, lambda results: None if results[0] else "it was not waited for")
    followed = replay_scenario(scenario, ((0, 3), (1, 1)))
    assert followed.problem is None
    runner = ScenarioRunner(scenario, Copies(()))
    assert runner.run(Replay(((0, 50), (1, 1)))).problem is None


def test_threads_that_a_setup_starts_take_the_place_of_nobody() -> None:
    """The first execution does the same as all others: whoever knows a schedule begins with the first."""
    known: list[list[int]] = []

    def setup(load: Load) -> Sequence[Callable[[], object]]:
        threading: Any = load("threading")
        known.append(sorted(threading._active))
        helpers = [threading.Thread(target=int) for _ in range(3)]
        for helper in helpers:
            helper.start()
        return [threading.current_thread, helpers[0].join]

    result = explore_scenario(Scenario((), setup), strategy="pos", executions=3)
    assert result.problem is None
    first, *others = known[-3:]
    assert all(other == first for other in others)


@pytest.mark.parametrize("granularity", [Granularity.FREE, Granularity.GIL])
def test_a_schedule_that_meets_unknown_code_for_the_first_time_is_followed(
    tmp_path: Path, granularity: Granularity
) -> None:
    path = tmp_path / "showing.py"
    path.write_text(
        "import pprint\n"
        "class Counter:\n"
        "    def __init__(self):\n"
        "        self.value, self.step = 0, 1\n"
        "    def add(self):\n"
        "        self.value = self.value + self.step\n"
        "    def look(self):\n"
        "        after = self.value + self.step\n"
        "        self.again()\n"
        "        if self.value + self.step != after:\n"
        "            return pprint.isreadable([self])\n"
        "    def again(self):\n"
        "        pass\n"
    )
    scenario, copies = counting(path, "add", "look"), Copies((), granularity)
    scenario = replace(scenario, check=lambda results: None if results[1] is None else "torn")
    result = explore_scenario(scenario, copies=copies)
    assert problem_of(result) == (FindingKind.INVARIANT, "torn")
    for known in (copies, Copies((), granularity)):
        replay = replay_scenario(scenario, result.schedule, copies=known, is_strict=result.is_strict)
        assert replay.followed
        assert replay.problem == result.problem


@pytest.mark.parametrize("granularity", [*REWRITTEN, Granularity.OPCODES])
def test_code_finds_its_own_module(tmp_path: Path, granularity: Granularity) -> None:
    """By name, in ``sys.modules``: as pickle, dataclasses, type hints and inspect do."""
    path = tmp_path / "finding.py"
    path.write_text(
        "from __future__ import annotations\n"
        "import dataclasses, pickle, sys, typing\n"
        "class Point:\n"
        "    next: Point\n"
        "def look():\n"
        "    assert vars(sys.modules[__name__]) is globals()\n"
        "    assert type(pickle.loads(pickle.dumps(Point()))) is Point\n"
        "    assert typing.get_type_hints(Point) == {'next': Point}\n"
        "    @dataclasses.dataclass\n"
        "    class Pair:\n"
        "        one: typing.ClassVar[int]\n"
        "        two: int = 2\n"
        "    return Pair().two\n"
    )
    before = dict(sys.modules)
    scenario = Scenario((), lambda load: [load(path).look] * 2, lambda results: None if results == [2, 2] else "wrong")
    strategy: Any = "opcodes" if granularity.is_of_opcodes else "pos"
    result = explore_scenario(scenario, granularity=granularity, executions=4, strategy=strategy)
    assert result.problem is None
    assert {name for name in sys.modules if name not in before and "finding" in name} == set()


def test_what_is_not_repeatable_is_said_to_be(code: Path) -> None:
    made: list[Any] = []

    def setup(load: Load) -> Sequence[Callable[[], object]]:
        made.append(load(code).Counter())
        return [made[-1].add, made[-1].add]

    def check(_: list[object]) -> str | None:
        return "now and then" if len(made) == 4 else None

    result = explore_scenario(Scenario((), setup, check))
    assert problem_of(result)[0] is FindingKind.NONDETERMINISM
    assert not result.schedule


def test_too_many_threads_are_refused(code: Path) -> None:
    with pytest.raises(ValueError, match="at most 128 threads"):
        explore_scenario(counting(code, *["add"] * 129))


def test_a_wrong_setup_is_the_callers_business(code: Path) -> None:
    with pytest.raises(AttributeError, match="misspelt"):
        explore_scenario(counting(code, "misspelt"))


# Dotted names as roots


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package of which a part is explored."""
    files = {
        "__init__.py": "from . import part, shared\n",
        "shared.py": "VALUES = []\n",
        "part/__init__.py": "from .inner import Inner\n",
        "part/inner.py": """
            import threading
            from scenario_package import part, shared

            class Inner:
                values = shared.VALUES
                lock = threading.Lock()
            """,
        "partner.py": "",
    }
    for name, text in files.items():
        file = tmp_path / "scenario_package" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield "scenario_package"
    for name in set(sys.modules) - before:
        if name.startswith("scenario_package"):
            del sys.modules[name]


def test_real_modules_are_where_they_were_after_it_turned_out_that_more_are_private(tmp_path: Path) -> None:
    """A target that builds on the reference's stores makes all of kcache private, while it is being loaded."""
    file = tmp_path / "builds_on_it.py"
    file.write_text("from kcache import new_store\n\n\ndef make(key_func, indexers):\n    return new_store(key_func)\n")
    importlib.import_module("kcache.testing")
    before = dict(sys.modules)
    sandbox = Sandbox(Roots(frozenset()), expected=(file,))
    private = sandbox.load(file)
    assert "kcache" in sandbox.owned.roots.packages
    assert private.new_store is not kcache.new_store
    now = {name: sys.modules.get(name) for name in before}
    assert [name for name, module in before.items() if now[name] is not module] == []


@pytest.mark.parametrize("imported_before", [True, False])
def test_a_part_of_a_package_is_copied_and_the_rest_shared(package: str, imported_before: bool) -> None:
    real: ModuleType | None = __import__(f"{package}.part").part if imported_before else None
    sandbox = Sandbox(Roots(frozenset({f"{package}.part"})))
    inner = sandbox.load(f"{package}.part.inner")
    whole = __import__(package)
    assert real is None or whole.part is real
    assert whole.part is sys.modules[f"{package}.part"]
    assert whole.part.inner is not inner
    assert inner.Inner.values is whole.shared.VALUES
    assert type(inner.Inner.lock) is not type(whole.part.inner.Inner.lock)
    assert inner.part is sandbox.load(f"{package}.part")
    assert whole.part is sys.modules[f"{package}.part"]
    assert {Path(path).name for path in sandbox.sources} == {"__init__.py", "inner.py"}
    assert not sandbox.owned.roots.contain(f"{package}.partner")
    assert not sandbox.owned.roots.contain(package)
