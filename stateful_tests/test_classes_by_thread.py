"""Classes whose calls depend on who calls: locks with owners, and what each thread has of its own."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from kcache_conformance.targets.class_names import class_type_name
from kcache_conformance.targets.target_types import target_type_named
from kcache_model.finding import Finding
from kcache_model.object_types.plain import MethodCall, ObjectProgram
from kcache_model.object_types.replay_steps import CalledBy
from kcache_model.object_types.replayed import ReplaySpecification
from kcache_model.object_types.specification import as_called, may_wait_for_ever
from kcache_model.outcomes import WAITS, Outcome, returned
from kcache_model.progress import NoProgress
from kcache_stress.objects.findings import Setting
from kcache_stress.objects.object_exploration import ObjectExplorationTarget
from kcache_stress.objects.threads import ObjectStress
from kcache_stress.target.explore import ExploreOptions, explore

CODE = """
import threading

class Gate:
    def __init__(self):
        self._lock = threading.RLock()

    def enter(self) -> bool:
        return self._lock.acquire(blocking=False)

    def leave(self) -> None:
        self._lock.release()

class OpenGate:
    def __init__(self):
        self._owner, self._times = None, 0

    def enter(self) -> bool:
        me = threading.get_ident()
        if self._owner not in (None, me):
            return False
        self._owner = me
        self._times += 1
        return True

    def leave(self) -> None:
        if self._owner != threading.get_ident():
            raise RuntimeError("not yours")
        self._times -= 1
        if not self._times:
            self._owner = None

class Named(Gate):
    def __init__(self):
        super().__init__()
        self.owner = None

    def enter(self) -> bool:
        self.owner = threading.get_ident()
        return True

class Own:
    def __init__(self):
        self._own = threading.local()

    def add(self) -> int:
        self._own.count = getattr(self._own, "count", 0) + 1
        return self._own.count

class OneForAll:
    def __init__(self):
        self._count = {}
        self._me = None

    def add(self) -> int:
        self._me = threading.get_ident()
        self._count[self._me] = self._count.get(self._me, 0) + 1
        return self._count[self._me]
"""
enter, leave, add = MethodCall("enter"), MethodCall("leave"), MethodCall("add")
TWICE = ObjectProgram(threads=((enter, leave), (enter, leave)))
COUNTS = ObjectProgram(threads=((add, add), (add,)))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "by_thread.py"
    path.write_text(textwrap.dedent(CODE), encoding="utf-8")
    return path


def exploration_target(target: str) -> ObjectExplorationTarget:
    exploring = target_type_named(class_type_name(target)).exploring
    assert exploring is not None
    made = exploring.exploration_target(target, (), ExploreOptions().granularity)
    assert isinstance(made, ObjectExplorationTarget)
    return made


def found_in(target: str, program: ObjectProgram) -> Finding | None:
    return explore(
        exploration_target(target), program, ExploreOptions(candidates=ExploreOptions(executions=20))
    ).finding


@pytest.mark.parametrize(("name", "program"), [("Gate", TWICE), ("Own", COUNTS)])
def test_who_calls_is_told_apart(file: Path, name: str, program: ObjectProgram) -> None:
    assert found_in(f"{file}:{name}", program) is None


@pytest.mark.parametrize(("name", "program"), [("OpenGate", TWICE), ("OneForAll", COUNTS)])
def test_owners_that_are_mixed_up_are_found(file: Path, name: str, program: ObjectProgram) -> None:
    found = found_in(f"{file}:{name}", program)
    assert found is not None
    assert "No sequential order" in found.summary


def test_with_real_threads_as_well(file: Path) -> None:
    """What comes before the threads is done by another one: what it has entered, they may not leave."""
    made = exploration_target(f"{file}:Gate")
    setting = Setting(made._object_type, made.target.name, strict_errors=False, instrument=())
    stress = ObjectStress(made.target, setting, NoProgress(), 0, 60.0)
    with stress.underway():
        for _ in range(20):
            found = stress.run(ObjectProgram(prefix=(enter,), threads=((leave, enter), (enter,))))
            assert found.kind is None
    assert {str(call.outcome) for call in found.calls if call.operation == enter} == {"True", "False"}


def test_what_tells_who_called_is_left_out(file: Path) -> None:
    kind = target_type_named(class_type_name(f"{file}:Named"))
    assert "what owner returns (it differs from run to run)" in kind.not_tested(
        exploration_target(f"{file}:Named").target
    )


def test_threads_are_counted_as_they_come() -> None:
    """So that the same calls by others need no further replay."""
    made: list[tuple[object, ...]] = []

    def replay(calls: tuple[object, ...]) -> Outcome:
        made.append(calls)
        return returned(len(calls))

    specification = ReplaySpecification(replay)
    ((after, _),) = specification.effects((), as_called(specification, enter, 7))
    specification.effects(after, as_called(specification, enter, 3))
    specification.effects((CalledBy(enter, 0),), CalledBy(enter, 5))
    specification.effects((), as_called(specification, enter, -1))
    assert made == [
        *[(CalledBy(enter, 0),)] * 2,
        *[(CalledBy(enter, 0), CalledBy(enter, 1))] * 2,
        *[(enter,)] * 2,
    ]


def test_a_lock_waits_for_other_threads_only() -> None:
    def replay(calls: tuple[object, ...]) -> Outcome:
        return WAITS if len({call.thread for call in calls if isinstance(call, CalledBy)}) > 1 else Outcome()

    specification = ReplaySpecification(replay)
    assert may_wait_for_ever(specification, ObjectProgram(threads=((enter,), (enter,))))
    assert not may_wait_for_ever(specification, ObjectProgram(threads=((enter, enter),)))


RESULTS = """
import random
import threading
import weakref

class Sessions:
    def __init__(self):
        self._lock = threading.Lock()
        self._count = 0

    def login(self) -> str:
        with self._lock:
            self._count += 1
        return random.SystemRandom().random()

    def count(self) -> int:
        return self._count

class LostSessions(Sessions):
    def login(self) -> str:
        self._count += 1
        return random.SystemRandom().random()

class Name:
    pass

class Names:
    def __init__(self):
        self._lock = threading.Lock()
        self._names = weakref.WeakSet()

    def make(self):
        with self._lock:
            name = Name()
            self._names.add(name)
            return name

    def size(self) -> int:
        with self._lock:
            return len(self._names)
"""


@pytest.mark.parametrize(("name", "is_wrong"), [("Sessions", False), ("LostSessions", True)])
def test_calls_whose_results_differ_are_made_all_the_same(tmp_path: Path, name: str, is_wrong: bool) -> None:
    path = tmp_path / "results.py"
    path.write_text(RESULTS, encoding="utf-8")
    login, size = MethodCall("login"), MethodCall("count")
    found = found_in(f"{path}:{name}", ObjectProgram(threads=((login, size), (login, size))))
    assert (found is not None) is is_wrong
    kind = target_type_named(class_type_name(f"{path}:{name}"))
    left_out = kind.not_tested(exploration_target(f"{path}:{name}").target)
    assert "what login returns (it differs from run to run)" in left_out


def test_what_a_call_has_returned_is_held_by_its_caller(tmp_path: Path) -> None:
    path = tmp_path / "results.py"
    path.write_text(RESULTS, encoding="utf-8")
    make, size = MethodCall("make"), MethodCall("size")
    assert found_in(f"{path}:Names", ObjectProgram(threads=((make, size), (make,)))) is None


def test_the_calls_of_a_simple_queue_are_single_steps() -> None:
    """In C they are: whoever sees that there is an item can get it."""
    put, empty, get = MethodCall("put", (1,)), MethodCall("empty"), MethodCall("get_nowait")
    assert found_in("queue:SimpleQueue()", ObjectProgram(threads=((empty, get), (put,)))) is None


IN_TWO_STEPS = """
import threading
from collections import deque
from queue import Empty

class Queue:
    def __init__(self):
        self._items = deque()
        self._count = threading.Semaphore(0)

    def put(self, item):
        self._items.append(item)
        self._count.release()

    def get_nowait(self):
        if not self._count.acquire(blocking=False):
            raise Empty
        return self._items.popleft()

    def empty(self) -> bool:
        return not self._items
"""


def test_a_queue_in_two_steps_is_found(tmp_path: Path) -> None:
    path = tmp_path / "two_steps.py"
    path.write_text(IN_TWO_STEPS, encoding="utf-8")
    put, empty, get = MethodCall("put", (1,)), MethodCall("empty"), MethodCall("get_nowait")
    assert found_in(f"{path}:Queue", ObjectProgram(threads=((empty, get), (put,)))) is not None
