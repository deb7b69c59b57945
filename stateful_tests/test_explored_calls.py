"""The explorer says of each call how often it was made, and how it ended: a call that always fails tests nothing."""

from __future__ import annotations

from pathlib import Path

from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.runs.suite import run_suite
from kcache_conformance.targets.class_names import class_type_name
from kcache_conformance.targets.target_types import target_type_named
from kcache_model.object_types.plain import MethodCall, ObjectProgram
from kcache_stress.target.explore import ExploreOptions, explore

LIMITED = """
import threading

class Limited:
    def __init__(self):
        self._lock = threading.Lock()
        self._used = 0

    def take(self, amount: int):
        if amount > 100_000:
            raise ValueError("too much")
        with self._lock:
            self._used += 1
        return None

    def used(self):
        with self._lock:
            return self._used
"""


def test_calls_are_counted_by_how_they_ended(tmp_path: Path) -> None:
    (tmp_path / "limited.py").write_text(LIMITED, encoding="utf-8")
    target = f"{tmp_path / 'limited.py'}:Limited"
    exploring = target_type_named(class_type_name(target)).exploring
    assert exploring is not None
    options = ExploreOptions(seconds=60.0)
    few, many = MethodCall("take", (1,)), MethodCall("take", (1_000_000,))
    explored = explore(
        exploring.exploration_target(target, (), options.granularity), ObjectProgram((few,), ((many,), (few,))), options
    )
    assert explored.is_exhausted
    assert set(explored.calls) == {("take", "ok"), ("take", "ValueError")}
    assert explored.calls["take", "ok"] == 2 * explored.calls["take", "ValueError"] > 0


def test_the_phase_passes_them_on(tmp_path: Path) -> None:
    (tmp_path / "limited_too.py").write_text(LIMITED, encoding="utf-8")
    target = f"{tmp_path / 'limited_too.py'}:Limited"
    options = SuiteOptions(kind=class_type_name(target), phases=("explorer",), budget_seconds=0.01)
    (explorer,) = run_suite(target, options).phases
    assert explorer.coverage
    assert set(explorer.coverage) <= {"take", "used"}
