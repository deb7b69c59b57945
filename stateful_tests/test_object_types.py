"""Object types of one's own: what is right passes, what is wrong is caught, mistakes of the specification are named."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kcache_conformance.objects import programs
from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.runs.suite import run_suite
from kcache_conformance.targets.judged_recording import JudgeOptions
from kcache_conformance.targets.target_types import target_type_named
from kcache_model.bound import Bound
from kcache_model.errors import TargetError
from kcache_model.finding import FindingKind
from kcache_model.linearizability import SearchBudget
from kcache_model.object_types.plain import MethodCall, ObjectProgram, PlainTarget, method, object_type
from kcache_model.outcomes import Outcome, raised, returned
from kcache_model.verdict import Status
from kcache_stress.engine.strategy import Coverage
from kcache_stress.target.explore import ExploreOptions, explore

CODE = """
import os
import threading

from kcache.extending import method, object_type


class Stack:
    def __init__(self):
        self._lock = threading.Lock()
        self._items = []

    def push(self, item):
        with self._lock:
            self._items.append(item)

    def pop(self):
        with self._lock:
            return self._items.pop()

    def items(self):
        with self._lock:
            return {"all": list(self._items)}


class WrongException(Stack):
    def pop(self):
        try:
            return super().pop()
        except IndexError:
            raise KeyError("empty") from None


class Ends(Stack):
    def pop(self):
        if not self._items:
            os._exit(3)
        return super().pop()


class Relock(Stack):
    def pop(self):
        with self._lock:
            return super().pop()


class StackSpecification:
    def initial(self):
        return ()

    def apply(self, state, call):
        match call.name:
            case "push":
                return (*state, call.arguments[0]), None
            case "pop" if state:
                return state[:-1], state[-1]
            case "pop":
                return state, IndexError()
        return state, {"all": list(state)}


STACK = object_type(
    "stack",
    reference="stacks:Stack",
    specification=StackSpecification(),
    vocabulary=[method("push", ("a", "b")), method("pop"), method("items", is_write=False)],
)


class Spinning:
    def __init__(self):
        self._lock = threading.Lock()
        self._held = False

    def acquire(self):
        while True:
            with self._lock:
                if not self._held:
                    self._held = True
                    return

    def release(self):
        with self._lock:
            if not self._held:
                raise RuntimeError("not held")
            self._held = False


class TwoHolders(Spinning):
    def acquire(self):
        while self._held:
            pass
        self._held = True


class MutexSpecification:
    def initial(self):
        return False

    def apply(self, is_held, call):
        if call.name == "acquire":
            return None if is_held else (True, None)
        return (False, None) if is_held else (False, RuntimeError())


MUTEX = object_type(
    "mutex",
    reference="stacks:Spinning",
    specification=MutexSpecification(),
    vocabulary=[method("acquire"), method("release")],
)
"""


@pytest.fixture
def stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "stacks.py").write_text(textwrap.dedent(CODE), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("stacks", None)
    target_type_named.cache_clear()


def checked(name: str, type: str = "stacks:STACK", **changes: Any) -> Any:
    return run_suite(f"stacks:{name}", SuiteOptions(**{"kind": type, "budget_seconds": 3.0, **changes}))


def test_the_reference_passes(stacks: Path) -> None:
    assert checked("Stack").status is Status.OK


def test_the_type_of_an_exception_counts(stacks: Path) -> None:
    (finding,) = checked("WrongException", phases=("smoke", "stateful")).findings
    assert finding.kind is FindingKind.DIVERGENCE
    assert [str(call) for call in finding.program.prefix] == ["pop()"]
    assert "raised KeyError" in finding.summary
    assert "expected: IndexError error" in finding.summary


def test_a_call_that_ends_the_process_is_alone_in_its_example(stacks: Path) -> None:
    (finding,) = checked("Ends", phases=("stateful",), budget_seconds=240.0).findings
    assert finding.kind is FindingKind.CRASH
    assert [str(call) for call in finding.program.prefix] == ["pop()"]


def explored(name: str, type: str, *threads: tuple[MethodCall, ...], prefix: tuple[MethodCall, ...] = ()) -> Any:
    found = target_type_named(type).exploring
    assert found is not None
    once = ExploreOptions("dpor", executions=40, seconds=120.0, minimise_seconds=0.1)
    options = replace(once, candidates=once)
    exploration_target = found.exploration_target(f"stacks:{name}", (), options.granularity)
    return explore(exploration_target, ObjectProgram(prefix, threads), options)


ACQUIRE, RELEASE = MethodCall("acquire"), MethodCall("release")


@pytest.mark.nightly
def test_a_thread_that_spins_until_another_one_goes_on_is_not_accused(stacks: Path) -> None:
    found = explored("Spinning", "stacks:MUTEX", (ACQUIRE,), (RELEASE,), prefix=(ACQUIRE,))
    assert found.finding is None
    assert found.coverage is not Coverage.EXHAUSTED


@pytest.mark.nightly
def test_two_holders_of_a_spinning_lock_are_found(stacks: Path) -> None:
    found = explored("TwoHolders", "stacks:MUTEX", (ACQUIRE, RELEASE), (ACQUIRE, RELEASE))
    assert found.finding is not None


def test_a_call_before_the_threads_that_waits_for_itself_is_a_deadlock(stacks: Path) -> None:
    push, pop = MethodCall("push", ("a",)), MethodCall("pop")
    found = explored("Relock", "stacks:STACK", (push,), (push,), prefix=(push, pop))
    assert found.finding.kind is FindingKind.DEADLOCK


def test_recorded_results_may_be_dicts_and_errors(stacks: Path) -> None:
    def status(*outcomes: tuple[str, dict[str, Any]]) -> Status:
        lines = [json.dumps({"schema": "kcache/history/1"})]
        for at, (name, outcome) in enumerate(outcomes):
            arguments = ["a"] if name == "push" else []
            call = {"op": name, "arguments": arguments, "thread": 0, "invoked": 2 * at, "returned": 2 * at + 1}
            lines.append(json.dumps({**call, "outcome": outcome}))
        recordings = target_type_named("stacks:STACK").recordings
        assert recordings is not None
        return recordings.judge(lambda: lines, JudgeOptions(budget=SearchBudget())).status

    assert status(("push", {"result": None}), ("items", {"result": {"all": ["a"]}})) is Status.OK
    assert status(("push", {"result": None}), ("items", {"result": {"all": []}})) is Status.VIOLATION
    assert status(("pop", {"error": "IndexError"})) is Status.OK
    assert status(("pop", {"error": "KeyError"})) is Status.VIOLATION


class Counts:
    """A specification that does what a test says."""

    def __init__(self, apply: Callable[[Any, MethodCall], Any]) -> None:
        self.apply = apply

    def initial(self) -> Any:
        return 0


def effects(apply: Callable[[Any, MethodCall], Any]) -> list[tuple[Any, Outcome]]:
    made = object_type("n", reference="m:f", specification=Counts(apply), vocabulary=[method("add", (1,))])
    return list(made.specification(None).effects(0, MethodCall("add", (1,))))


def test_what_a_specification_says() -> None:
    def fails(state: Any, call: MethodCall) -> Any:
        raise LookupError

    assert effects(lambda state, call: (state + 1, [1, {2}])) == [(1, returned((1, (2,))))]
    assert effects(lambda state, call: None) == []
    assert effects(lambda state, call: (state, TypeError())) == [(0, raised("TypeError"))]
    assert effects(fails) == [(0, raised("LookupError"))]


@pytest.mark.parametrize(
    ("apply", "said"),
    [
        (lambda state, call: (state + call.argument, None), "raised AttributeError"),
        (lambda state, call: state, "returned 0; return the next state and the result of the call"),
        (lambda state, call: ([state], None), "which is not hashable"),
    ],
)
def test_mistakes_of_a_specification_are_its_own(apply: Callable[[Any, MethodCall], Any], said: str) -> None:
    with pytest.raises(TargetError, match=r"the specification Counts cannot be used: apply\(0, add\(1\)\)") as error:
        effects(apply)
    assert said in str(error.value)


def test_the_values_of_an_argument_are_a_list() -> None:
    with pytest.raises(TargetError, match="must be a list of the values to try"):
        method("add", 3)  # type: ignore[arg-type]


def test_the_first_program_of_a_bound_does_not_wait_for_checks_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    class Counting:
        def initial(self) -> int:
            return 0

        def apply(self, state: int, operation: MethodCall) -> tuple[int, Any]:
            del operation
            return state + 1, state

    calls = tuple(method(name, [1, 2]) for name in ("add", "discard", "put"))
    sets = object_type("sets", specification=Counting(), vocabulary=calls, reference="builtins:set")
    checked: list[Any] = []
    monkeypatch.setattr(programs, "begins", lambda _specification, program: checked.append(program) or True)
    scope = programs.scope_by_size(sets, PlainTarget("builtins:set", set), Bound(2, 1))
    assert next(scope) == checked[0]
    assert len(checked) == 1
    assert sum(1 for _ in scope) > 20
