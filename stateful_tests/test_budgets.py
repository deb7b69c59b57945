"""Budgets in time and in work, and runs that end early because everything small is proved."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from math import inf
from pathlib import Path
from subprocess import CompletedProcess
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from kcache.cli import main
from kcache.testing import run_conformance
from kcache_conformance.phases.budget_slices import LEAST_PROGRAMS
from kcache_conformance.phases.phase import PhaseContext
from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.results.events import PhaseFinished, PhaseProgress, PhaseStarted, SuiteResult, TargetLoaded
from kcache_conformance.runs import suite
from kcache_conformance.runs.suite import run_suite
from kcache_conformance.targets.class_names import class_type_name
from kcache_conformance.targets.target_types import target_type_named
from kcache_model.verdict import Status

COUNTERS = """
import threading

class Counter:
    def __init__(self):
        self._lock = threading.Lock()
        self._count = 0

    def up(self):
        with self._lock:
            self._count += 1

    def count(self):
        with self._lock:
            return self._count

class Racy(Counter):
    def up(self):
        count = self._count
        self._count = count + 1
"""


def checked(folder: Path, name: str, **options: object) -> SuiteResult:
    file = folder / f"counters_{folder.name}.py"
    file.write_text(COUNTERS, encoding="utf-8")
    target = f"{file}:{name}"
    return run_suite(target, SuiteOptions(kind=class_type_name(target), **options))  # type: ignore[arg-type]


def test_a_run_in_which_everything_small_is_proved_ends_early(tmp_path: Path) -> None:
    result = checked(tmp_path, "Counter", budget_seconds=600.0)
    assert result.status is Status.OK
    assert result.seconds < 600.0
    (explorer,) = (phase for phase in result.phases if phase.phase == "explorer")
    programs = explorer.proved["programs"]
    assert explorer.proved == {"threads": 2, "calls": 2, "programs": programs, "waiting": 0}
    assert explorer.counts["exhausted"] >= programs > 5
    assert (
        result.shown == f"all {programs} programs of two threads with up to two calls are correct in every interleaving"
    )
    assert {phase.phase for phase in result.phases} == {"explorer", "stress"}


def test_its_twin_that_loses_updates_is_found_and_nothing_is_proved(tmp_path: Path) -> None:
    result = checked(tmp_path, "Racy", programs=60, budget_seconds=inf, phases=("explorer",), most_findings=1)
    assert result.status is Status.VIOLATION
    assert not any(phase.proved for phase in result.phases)


def test_a_number_of_programs_decides_what_is_run(tmp_path: Path) -> None:
    """Twice the same work, whatever the machine is doing meanwhile."""
    counts = []
    for folder in (tmp_path / "once", tmp_path / "again"):
        folder.mkdir()
        result = checked(folder, "Counter", programs=25, budget_seconds=inf)
        assert result.status is Status.OK
        found = {phase.phase: phase.counts for phase in result.phases}
        assert {name: count["programs"] for name, count in found.items()} == {"explorer": 25, "stress": 25}
        counts.append(found["explorer"])
    assert counts[0] == counts[1]


def test_the_state_machine_runs_exactly_so_many_programs() -> None:
    counts = []
    for _ in range(2):
        options = SuiteOptions(kind="fifo", phases=("stateful",), programs=33, budget_seconds=inf)
        (phase,) = run_suite(target_type_named("fifo").reference, options).phases
        assert phase.counts["programs"] == 33
        counts.append(phase.counts)
    assert counts[0] == counts[1]


def test_the_command_line_takes_a_number_of_programs(tmp_path: Path) -> None:
    file = tmp_path / "counters_of_a_command.py"
    file.write_text(COUNTERS, encoding="utf-8")
    report = tmp_path / "result.json"
    options = ("--no-saved", "--only", "explorer", "--programs", "12", "--json", str(report))
    done = CliRunner().invoke(main, ["check", f"{file}:Counter", *options])
    assert done.exit_code == 0, done.output
    assert "budget 12 programs" in done.output
    data = json.loads(report.read_text(encoding="utf-8"))
    assert (data["options"]["budget_seconds"], data["options"]["programs"]) == (None, 12)
    assert data["phases"][0]["counts"]["programs"] == 12
    explored = CliRunner().invoke(main, ["explore", f"{file}:Counter", "--programs", "12"])
    assert explored.exit_code == 0, explored.output
    assert "  12 programs, " in explored.output
    assert explored.output.splitlines()[-1] == "ok: all 12 programs are correct in every interleaving"


def test_each_call_is_made_however_little_time_is_left(tmp_path: Path) -> None:
    result = checked(tmp_path, "Counter", phases=("stress",), budget_seconds=1e-6)
    assert result.status is Status.OK, result.reasons
    assert {"up", "count"} <= {call.partition(".")[0] for call in result.methods.called}


def test_each_call_is_made_before_any_is_made_again(tmp_path: Path) -> None:
    """On a machine where the budget is over after a few rounds."""
    file = tmp_path / "counters.py"
    file.write_text(COUNTERS, encoding="utf-8")
    target_type, asked = target_type_named(class_type_name(f"{file}:Counter")), itertools.count()
    context = PhaseContext(target_type.load(f"{file}:Counter"), seconds=0.0, is_spent=lambda: next(asked) >= 8)
    outcome = target_type.phases["stress"](context)
    assert outcome.counts["programs"] < 8
    assert {name.partition(".")[0] for name, _ in outcome.coverage} == {"up", "count"}


def test_a_phase_that_does_not_come_back_is_ended_and_what_it_did_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock says at once that the budget is over: each child is ended as soon as it has done the least."""
    passed = itertools.count(0.0, 1000.0)
    monkeypatch.setattr(suite, "time", SimpleNamespace(monotonic=lambda: next(passed)))
    result = checked(tmp_path, "Counter", budget_seconds=1000.0)
    assert result.status is Status.OK, result.reasons
    counts = {phase.phase: phase.counts["programs"] for phase in result.phases}
    assert set(counts) == {"explorer", "stress"}
    assert counts["explorer"] >= LEAST_PROGRAMS["explorer"]
    assert counts["stress"] >= LEAST_PROGRAMS["stress"]


def test_a_phase_that_is_slow_while_nobody_disturbs_it_is_ended_and_says_so() -> None:
    """A call that waits for the outside world is not interrupted by the end of the budget: its process is ended."""
    options = SuiteOptions(budget_seconds=10.0, phases=("smoke", "stress"))
    log = suite._Log(lambda _: None, target_type_named("indexer"), options)
    most = 11.5
    log(PhaseStarted("smoke", 1.0))
    log(TargetLoaded((), seconds=6.0))
    assert not log.is_late(100.0, most), "it ends by itself"
    assert not log.is_late(101.0, most)
    log(PhaseFinished("smoke", {}))
    log(PhaseStarted("stress", 9.0))
    log(PhaseProgress("stress", 0.5, {"programs": 3}))
    assert not log.is_late(101.0 + 12.9, most), "it has had too little time behind the finite phase"
    assert not log.is_late(101.0 + 100.0, 1_000.0)
    assert log.is_late(101.0 + 13.1, most)
    log.over()
    result = log.result(13.1, has_name=True)
    assert result.status is Status.UNKNOWN
    assert "so slow that the budget was spent after 3 programs" in result.reasons[0]


def test_a_process_that_is_not_loaded_yet_is_not_late() -> None:
    log = suite._Log(lambda _: None, target_type_named("indexer"), SuiteOptions(phases=("stress",)))
    assert not log.is_late(100.0, 1.0)
    by_work = suite._Log(lambda _: None, target_type_named("indexer"), SuiteOptions(phases=("stress",), programs=30))
    by_work(TargetLoaded((), seconds=0.5))
    by_work(PhaseStarted("stress", 1.0))
    assert not by_work.is_late(100.0, 1.0), "a number of programs decides"


def test_a_test_is_one_program_and_never_late() -> None:
    log = suite._Log(lambda _: None, target_type_named("test"), SuiteOptions(kind="test", phases=("explorer",)))
    log(TargetLoaded((), seconds=0.5))
    log(PhaseStarted("explorer", 2.0))
    assert not log.is_late(100.0, 2.3)


@pytest.mark.parametrize(
    ("budget", "loading", "programs", "expected"),
    [
        (1.0, 0.6, 20, False),  # most of the budget, but soon done again
        (10.0, 3.5, 20, True),
        (60.0, 3.5, 20, False),
        (60.0, 0.6, 3, True),  # it was late in this phase, and would be in the next one
    ],
)
def test_another_child_does_what_is_left_unless_it_would_take_long(
    budget: float, loading: float, programs: int, expected: bool
) -> None:
    options = SuiteOptions(budget_seconds=budget, phases=("stateful", "stress"))
    log = suite._Log(lambda _: None, target_type_named("indexer"), options)
    log(TargetLoaded((), seconds=loading))
    log(PhaseStarted("stateful", budget))
    log(PhaseProgress("stateful", 1.0, {"programs": programs}))
    log.over()
    assert log.is_too_late is expected


def test_tests_take_a_number_of_programs(tmp_path: Path, run_command: Callable[..., CompletedProcess[str]]) -> None:
    result = run_conformance("kcache:new_indexer", phases=("stateful", "stress"), programs=7)
    assert {phase.phase: phase.counts["programs"] for phase in result.phases} == {"stateful": 7, "stress": 7}
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    chosen = ("-k", "[stateful]", "--kcache-target", "kcache:new_indexer", "--kcache-programs", "7")
    done = run_command(tmp_path, "pytest", "-q", "-p", "no:cacheprovider", *chosen)
    assert "1 passed" in done.stdout, done.stdout
