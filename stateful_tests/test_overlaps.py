"""Rounds with real threads in which no calls overlap are repeated, and are no evidence."""

from __future__ import annotations

import threading
from functools import partial
from types import SimpleNamespace
from typing import Any

import greenlet
import pytest

from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.report.counts import counts_text
from kcache_conformance.results.events import PhaseFinished
from kcache_conformance.runs.suite import _Log
from kcache_conformance.targets.target_types import target_type_named
from kcache_model.finding import FindingKind
from kcache_model.history import Call
from kcache_model.object_types.checking import CallsVerdict
from kcache_model.object_types.plain import MethodCall, ObjectProgram, PlainTarget, method, object_type
from kcache_model.outcomes import Outcome, error_text, raised
from kcache_model.progress import NoProgress
from kcache_model.verdict import Status
from kcache_stress.objects import real_run, threads
from kcache_stress.objects.findings import Setting
from kcache_stress.objects.threads import ObjectStress, Round

ADVICE = "; to skip this phase, use --without explorer, or phases=... in a test"
EXPLORED = PhaseFinished("explorer", {"programs": 5, "executions": 50})


def stressed(rounds: int, overlapping: int) -> PhaseFinished:
    return PhaseFinished("stress", {"programs": rounds, "operations": 2 * rounds, "overlapping": overlapping})


@pytest.mark.parametrize(
    ("phases", "reasons"),
    [
        ((stressed(19_324, 14),), ("stress: only 14 of 19,324 rounds overlapped",)),
        ((stressed(30, 0),), ("stress: only 0 of 30 rounds overlapped",)),
        ((stressed(19_324, 14), EXPLORED), ()),
        ((stressed(300, 3),), ()),
        (
            (stressed(300, 2), PhaseFinished("explorer", {}, refused="it is written in C")),
            (f"explorer: it is written in C{ADVICE}", "stress: only 2 of 300 rounds overlapped"),
        ),
    ],
)
def test_rounds_without_overlap_are_no_evidence(phases: tuple[PhaseFinished, ...], reasons: tuple[str, ...]) -> None:
    options = SuiteOptions(phases=tuple(phase.phase for phase in phases))
    log = _Log(lambda _: None, target_type_named("indexer"), options)
    for phase in phases:
        log(phase)
    result = log.result(1.0, has_name=True)
    assert result.reasons == reasons
    assert result.status is (Status.UNKNOWN if reasons else Status.OK)


def test_the_line_of_the_phase_says_so() -> None:
    assert counts_text(stressed(19_324, 14)) == "19324 rounds, 38648 operations, only 14 of 19,324 rounds overlapped"
    assert counts_text(stressed(100, 14)) == "100 rounds, 200 operations, 14 rounds with overlapping calls"


class Fragile:
    """A counter that is right, or waits for ever, or loses each call."""

    def __init__(self, *, waits: bool, loses: bool) -> None:
        self._waits, self._loses = waits, loses
        self._count = 0
        self._lock = threading.Lock()

    def add(self) -> int:
        if self._waits:
            threading.Event().wait()
        with self._lock:
            self._count += not self._loses
            return self._count


class Counting:
    """A counter."""

    def initial(self) -> int:
        return 0

    def apply(self, state: int, operation: MethodCall) -> tuple[int, Any]:
        return state + 1, state + 1


COUNTER = object_type("fragile", specification=Counting(), vocabulary=(method("add"),), reference="fragile:Fragile")
BOTH = ObjectProgram((), ((MethodCall("add"),), (MethodCall("add"),)))


def stress_of(waits: int = 0, loses: int = 0) -> tuple[ObjectStress, list[Fragile]]:
    """Stress of objects of which those with these numbers are wrong; and the objects."""
    objects: list[Fragile] = []

    def make(objects: list[Fragile]) -> Fragile:
        number = len(objects) + 1
        objects.append(Fragile(waits=number == waits, loses=number == loses))
        return objects[-1]

    target = PlainTarget("fragile:Fragile", partial(make, objects))  # no function: this module would be shared state
    return ObjectStress(target, Setting(COUNTER, "fragile:Fragile"), NoProgress(), 0, 1.0), objects


def test_the_threads_go_from_object_to_object() -> None:
    stress, objects = stress_of()
    with stress.underway():
        found = stress._together(BOTH, 8)
    assert found.kind is None
    assert (stress.rounds, stress.undecided, len(objects)) == (8, 0, 8)
    assert stress.coverage.counts.total() == 16


@pytest.mark.parametrize(
    ("fault", "kind", "calls"), [("waits", FindingKind.HANG, 2), ("loses", FindingKind.NONLINEARIZABLE, 2)]
)
def test_what_goes_wrong_with_one_of_the_objects_is_told(fault: str, kind: FindingKind, calls: int) -> None:
    stress, _ = stress_of(**{fault: 6})
    with stress.underway():
        found = stress._together(BOTH, 8)
    assert found.kind is kind
    assert len(found.calls) == calls
    assert sum(call.returned is None for call in found.calls) == (2 if kind is FindingKind.HANG else 0)


def test_a_thread_that_a_fault_of_the_harness_has_ended_does_not_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it happens where the clock of the harness is the virtual one: its twin, a call that waits, is a hang above."""
    stress, _ = stress_of()
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    with stress.underway():
        own = threading.get_ident()
        monkeypatch.setattr(real_run, "clock", lambda: 0 if threading.get_ident() == own else next(iter(())))
        stress._together(BOTH, 1)  # ends the threads
        monkeypatch.undo()
        assert stress._together(BOTH, 1).kind is None
        assert stress.undecided == 1
        assert stress._together(BOTH, 1).kind is None  # by new threads
    assert (stress.rounds, stress.undecided) == (2, 1)


@pytest.mark.parametrize(
    ("error", "kind"),
    [(greenlet.error("Cannot switch to a different thread"), None), (KeyError("a"), FindingKind.EXCEPTION)],
)
def test_a_real_thread_that_meets_virtual_ones_accuses_nobody(error: Exception, kind: FindingKind | None) -> None:
    call = Call(0, MethodCall("get"), 0, 1, raised(type(error).__name__, error_text(error)))
    verdict = CallsVerdict(Status.VIOLATION, "reason", call, Outcome())
    stress, _ = stress_of()
    shown: Any = SimpleNamespace(calls=[call], history=[call], broken=(), judged=lambda: verdict)
    with stress.underway():
        assert stress._judged(shown).kind is kind


@pytest.mark.parametrize(("slow_seconds", "together"), [(60.0, [1, 16]), (0.0, [1])])
def test_a_program_that_is_slow_runs_once_at_a_time(
    slow_seconds: float, together: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    stress, _ = stress_of()
    asked: list[int] = []

    def run(_: Any, objects: int) -> Round:
        asked.append(objects)
        return Round((), CallsVerdict(Status.OK), "")

    monkeypatch.setattr(stress, "_together", run)
    monkeypatch.setattr(threads, "_SLOW_SECONDS", slow_seconds)
    assert stress.run(BOTH).kind is None
    assert asked == together
