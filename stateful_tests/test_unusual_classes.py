"""Classes that a check must neither accuse nor fail on: reads that write, files by number, waits in C, and others."""

from __future__ import annotations

import inspect
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from kcache_conformance.classes import probing
from kcache_conformance.classes.argument_values import first_values, other_values
from kcache_conformance.classes.sparing import Allowance
from kcache_conformance.phases.budget_slices import work_steps
from kcache_conformance.phases.phase import PhaseOutcome
from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.results.events import SuiteResult
from kcache_conformance.runs.suite import run_suite
from kcache_conformance.targets.class_names import class_type_name
from kcache_conformance.targets.target_types import target_type_named
from kcache_model.errors import UnwindError
from kcache_model.finding import Finding, FindingKind
from kcache_model.history import FINAL_THREAD, Call
from kcache_model.object_types.checking import check_calls
from kcache_model.object_types.method_call import Form, MethodCall
from kcache_model.object_types.plain import ObjectProgram, method
from kcache_model.object_types.plain_driver import PlainDriver
from kcache_model.object_types.replay_steps import Calls
from kcache_model.object_types.replayed import ReplaySpecification
from kcache_model.outcomes import Outcome, returned
from kcache_model.verdict import Status
from kcache_stress.engine.execution import Problem
from kcache_stress.engine.granularity import Granularity
from kcache_stress.runtime.threads.scheduler import Scheduler
from kcache_stress.runtime.threads.virtual_thread import VirtualThread
from kcache_stress.target.confirmation import Answer, Confirmation, with_confirmation


class Bar:
    """Closes itself where it is asked for an item, as ``tqdm`` does."""

    def __init__(self) -> None:
        self.is_open = True

    def __contains__(self, item: object) -> bool:
        self.is_open = False
        return False

    def touch(self) -> None:
        pass


def made_of_bar(calls: Calls) -> Outcome:
    driver = PlainDriver(Bar, None)
    return [driver.call(getattr(call, "operation", call)) for call in calls][-1]


@pytest.mark.parametrize(("is_open", "status"), [(False, Status.OK), ("ajar", Status.VIOLATION)])
def test_a_method_that_changes_something_against_its_name_is_no_fault(is_open: object, status: Status) -> None:
    contains = MethodCall("__contains__", ("a",), is_write=False)
    attribute = MethodCall("is_open", (), is_write=False, form=Form.READ)
    calls = [
        Call(0, MethodCall("touch"), 0, 3, Outcome()),
        Call(1, MethodCall("touch"), 1, 2, Outcome()),
        Call(FINAL_THREAD, contains, 4, 5, returned(False)),
        Call(FINAL_THREAD, attribute, 6, 7, returned(is_open)),
    ]
    assert check_calls(ReplaySpecification(made_of_bar, is_of_target=True), (), calls).status is status


class Odd:
    def __init__(self, error: BaseException) -> None:
        self._error = error

    def call(self) -> None:
        raise self._error


@pytest.mark.parametrize("error", [KeyboardInterrupt("key"), GeneratorExit("key"), SystemExit("key"), KeyError("key")])
def test_whatever_a_method_raises_is_its_outcome(error: BaseException) -> None:
    outcome = PlainDriver(partial(Odd, error), None).call(MethodCall("call"))
    assert outcome.error == type(error).__name__


def test_what_kcache_raises_to_end_a_call_is_none() -> None:
    with pytest.raises(UnwindError):
        PlainDriver(partial(Odd, UnwindError()), None).call(MethodCall("call"))


def test_a_thread_that_has_not_begun_can_be_unwound() -> None:
    scheduler = Scheduler()
    scheduler.reset(1)
    thread = scheduler.actors[0] = VirtualThread(0, lambda: None)
    thread.greenlet = scheduler._pool.take()
    scheduler.reset(1)
    assert thread.finished
    assert not scheduler.actors


@pytest.mark.parametrize("name", ["file", "filename", "outfile", "path", "log_path"])
def test_no_file_is_named_by_a_number(name: str) -> None:
    parameter = inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY)
    values = [*first_values(parameter), *(value for some in other_values(parameter) for value in some)]
    assert not any(isinstance(value, (int, float)) for value in values)


def test_what_is_no_file_may_be_a_number() -> None:
    assert 1 in first_values(inspect.Parameter("count", inspect.Parameter.POSITIONAL_ONLY))


UNUSUAL = """
import os, sqlite3, tempfile

class Closes:
    \"\"\"Closes what is open under a number.\"\"\"

    def close(self, number):
        try:
            os.close(number)
        except OSError:
            pass

class Table:
    \"\"\"SQLite keeps the calls apart: who comes second waits in C.\"\"\"

    WAITS = True

    def __init__(self):
        self._path = os.path.join(tempfile.mkdtemp(dir=os.path.dirname(__file__)), "table")
        with sqlite3.connect(self._path) as table:
            table.execute("create table numbers (number)")
        self._last = 0

    def add(self):
        table = sqlite3.connect(self._path, timeout=20, isolation_level=None)
        table.execute("begin immediate")
        self._last += 1
        table.execute("insert into numbers values (?)", (self._last,))
        table.execute("commit")
        table.close()

class Deep:
    \"\"\"Returns lists within lists.\"\"\"

    def __init__(self):
        self._items = []

    def nest(self):
        self._items = [self._items]
        for _ in range(12):
            self._items = [self._items]

    def items(self):
        return self._items
"""


@pytest.mark.parametrize("name", ["Closes", "Table"])
def test_no_call_is_accused_of_what_kcache_brings_about(name: str, tmp_path: Path) -> None:
    assert not _checked(name, tmp_path).findings


def test_results_may_be_nested_deeply(tmp_path: Path) -> None:
    result = _checked("Deep", tmp_path)
    assert result.phases[0].counts["programs"] == 6
    assert result.status is Status.VIOLATION  # two threads nest without a lock


def _checked(name: str, tmp_path: Path) -> SuiteResult:
    target = tmp_path / "unusual.py"
    target.write_text(UNUSUAL, encoding="utf-8")
    spec = f"{target}:{name}"
    options = SuiteOptions(
        kind=class_type_name(spec), phases=("explorer",), programs=6, budget_seconds=60.0, patience_seconds=1.0
    )
    return run_suite(spec, options)


@pytest.mark.parametrize(
    ("kind", "status"), [(FindingKind.NONDETERMINISM, Status.UNKNOWN), (FindingKind.LIVELOCK, Status.VIOLATION)]
)
def test_a_schedule_that_cannot_be_repeated_accuses_nobody(kind: FindingKind, status: Status) -> None:
    exploring = target_type_named(class_type_name("queue:Queue")).exploring
    assert exploring is not None
    exploration_target = exploring.exploration_target("queue:Queue", (), Granularity.FREE)
    program = ObjectProgram(threads=((MethodCall("qsize"),), (MethodCall("qsize"),)))
    found = exploration_target.finding(program, Problem(kind, "summary"))
    assert found.status is status
    assert with_confirmation(found, Confirmation(Answer.NOT_TRIED), "").status is status


def test_advice_that_is_not_confirmed_leaves_a_run_ok() -> None:
    finding = Finding(FindingKind.NONLINEARIZABLE, "explorer", "summary", unconfirmed="real threads did not fail")
    assert PhaseOutcome({"programs": 1}, finding).inconclusive
    assert not PhaseOutcome({"programs": 1}, replace(finding, is_advice=True)).inconclusive


def test_the_least_programs_of_a_slow_target_end_with_the_budget() -> None:
    spent = iter([False, False, True])
    assert len(list(work_steps(0.0, least=5))) == 5
    assert len(list(work_steps(0.0, least=5, is_spent=lambda: next(spent)))) == 3


@pytest.mark.parametrize(("size", "is_kept"), [(3, True), (1_000_000, False)])
def test_results_that_are_huge_are_not_kept(size: int, is_kept: bool) -> None:
    driver = PlainDriver(partial(list, range(size)), None)
    assert driver.call(MethodCall("copy")).error is None
    assert bool(driver.results("copy")) is is_kept


class Slow:
    """Tries of which those of one method take their time, on a clock of their own; and it may wait in the end."""

    def __init__(self, *, waits: bool = False, is_real: bool = False) -> None:
        self.now = 0.0
        self.real_waits = 0
        self._waits, self._is_real = waits, is_real

    def __call__(self, calls: Calls) -> Outcome:
        if calls[-1].name != "work":
            return Outcome()
        self.now += 1
        self.real_waits += self._is_real
        return Outcome(waits=self._waits)

    def result(self, calls: Calls) -> object:
        return None


@pytest.mark.parametrize(
    ("tries", "is_left_out"),
    [(Slow(), True), (Slow(waits=True), True), (Slow(waits=True, is_real=True), False)],
    ids=["works", "polls for long", "waits for real, as long as the patience with it"],
)
def test_a_method_that_works_for_long_is_left_out(
    tries: Slow, is_left_out: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing, "own_seconds", lambda: tries.now)
    quick = [method(name) for name in ("clear", "copy", "first", "last", "size")]
    assert probing.Probed((method("work"), *quick), tries, Allowance()).untried == ({"work"} if is_left_out else set())
    assert not probing.Probed((method("work"),), tries, Allowance()).untried  # something has to be left
