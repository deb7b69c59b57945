"""One run reports all faults of a class: the search goes on behind those that are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.targets.class_names import class_type_name
from kcache_conformance.targets.target_types import target_type_named
from kcache_conformance.verification.batch import Batch, decode_tally, encode_batch, run_batch
from kcache_model.finding import Finding, FindingKind
from kcache_model.object_types.plain import MethodCall, ObjectProgram
from kcache_stress.engine.granularity import Granularity
from kcache_stress.target.excluded_faults import ExcludedFaults
from kcache_stress.target.explore import ExploreOptions, explore

FAULTS = '''
import threading


class Right:
    def __init__(self):
        self._first, self._second = threading.Lock(), threading.Lock()
        self._total = 0

    def add(self):
        with self._first:
            self._total += 1

    def count(self):
        return self._total

    def get(self):
        self.add()
        with self._first, self._second:
            return "got"

    def info(self):
        self.add()
        with self._first, self._second:
            return "info"


class LostUpdate(Right):
    """One fault, which each program with two calls shows: add() reads and writes without a lock."""

    def add(self):
        self._total += 1


class LostUpdateAndDeadlock(LostUpdate):
    """A second fault behind it: info() takes the locks in the other order."""

    def info(self):
        self.add()
        with self._second, self._first:
            return "info"


class OneLineRaises:
    """One fault: the line of _remove, whichever call leads there."""

    def __init__(self):
        self._items = {"a": 1}

    def take(self):
        return self._remove()

    def drop(self):
        self._remove()

    def _remove(self):
        if "a" in self._items:
            return self._items.pop("a")
        return None
'''


def written(folder: Path, name: str) -> str:
    file = folder / "faults.py"
    file.write_text(FAULTS, encoding="utf-8")
    return f"{file}:{name}"


def found(folder: Path, name: str, *, most: int = 20, programs: int = 24) -> list[Finding]:
    target = written(folder, name)
    options = ExploreOptions(executions=300, seconds=60.0, minimise_seconds=2.0)
    batch = Batch(
        target,
        options,
        SuiteOptions(kind=class_type_name(target)),
        seeds=(0, programs),
        seconds=600.0,
        most_findings=most,
    )
    return list(decode_tally(run_batch(encode_batch(batch))).findings)


def test_one_run_reports_two_independent_faults(tmp_path: Path) -> None:
    kinds = [finding.kind for finding in found(tmp_path, "LostUpdateAndDeadlock")]
    assert sorted(kinds) == [FindingKind.DEADLOCK, FindingKind.NONLINEARIZABLE]


@pytest.mark.parametrize(("name", "count"), [("LostUpdate", 1), ("Right", 0)])
def test_one_fault_is_one_finding_and_what_is_right_has_none(tmp_path: Path, name: str, count: int) -> None:
    assert len(found(tmp_path, name)) == count


def test_what_one_line_raises_is_one_finding(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, "OneLineRaises")
    assert finding.kind is FindingKind.EXCEPTION
    assert finding.location.endswith("in _remove")


def test_one_finding_may_be_enough(tmp_path: Path) -> None:
    assert len(found(tmp_path, "LostUpdateAndDeadlock", most=1)) == 1


def test_the_search_of_one_program_goes_on_behind_a_known_fault(tmp_path: Path) -> None:
    target = written(tmp_path, "LostUpdateAndDeadlock")
    exploring = target_type_named(class_type_name(target)).exploring
    assert exploring is not None
    exploration_target = exploring.exploration_target(target, (), Granularity.FREE)
    program = ObjectProgram((), ((MethodCall("get"), MethodCall("count")), (MethodCall("info"),)))
    options = ExploreOptions(executions=2000, seconds=60.0, minimise_seconds=0.0)
    everything = explore(exploration_target, program, options)
    assert everything.finding is not None
    other = explore(exploration_target, program, options, excluded=ExcludedFaults((everything.finding,)))
    assert other.finding is not None
    assert {everything.finding.kind, other.finding.kind} == {FindingKind.DEADLOCK, FindingKind.NONLINEARIZABLE}
    both = ExcludedFaults((everything.finding, other.finding))
    nothing = explore(exploration_target, program, options, excluded=both)
    assert nothing.finding is None
    assert nothing.excluded
    assert not nothing.is_exhausted, "an execution that shows a known fault is no proof"
