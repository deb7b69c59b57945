"""Classes whose results depend on the clock: time that passes beside other calls explains them, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.runs.suite import run_suite
from kcache_conformance.targets.class_names import class_type_name
from kcache_conformance.targets.target_types import target_type_named
from kcache_model.history import Call
from kcache_model.linearizability.waiting import TooManyWaysError
from kcache_model.object_types.checking import check_calls
from kcache_model.object_types.method_call import MethodCall
from kcache_model.object_types.plain import ObjectProgram
from kcache_model.object_types.replay_steps import CalledBy
from kcache_model.outcomes import Outcome
from kcache_model.verdict import Status
from kcache_stress.engine.strategy import Coverage
from kcache_stress.judgement.call_judge import CallJudge
from kcache_stress.objects.object_exploration import ObjectExplorationTarget
from kcache_stress.target.explore import Explored, ExploreOptions, explore
from stateful_tests.material.front_door import newcomers

FILE = Path(newcomers.__file__)
TAKE, TRY_TAKE, HAS_TOKEN = MethodCall("take"), MethodCall("try_take"), MethodCall("has_token", is_write=False)
SECOND = 1_000_000_000


def exploration_target(name: str) -> ObjectExplorationTarget:
    exploring = target_type_named(class_type_name(f"{FILE}:{name}")).exploring
    assert exploring is not None
    made = exploring.exploration_target(f"{FILE}:{name}", (), ExploreOptions().granularity)
    assert isinstance(made, ObjectExplorationTarget)
    return made


def explored(name: str, program: ObjectProgram) -> Explored:
    return explore(exploration_target(name), program, ExploreOptions(candidates=ExploreOptions(executions=20)))


@pytest.mark.parametrize("last", [HAS_TOKEN, TRY_TAKE], ids=str)
def test_sleeps_that_add_up_are_no_fault(last: MethodCall) -> None:
    """One thread begins to sleep when the sleep of the other one is over: more tokens are due than in any sequence."""
    found = explored("GoodBucket", ObjectProgram((TAKE,), ((TAKE,), (TAKE, last))))
    assert found.finding is None
    assert found.coverage in (Coverage.EXHAUSTED, Coverage.NO_PROOF)


def test_a_token_that_two_callers_get_is_a_fault_although_time_passes() -> None:
    found = explored("BadBucket", ObjectProgram((TAKE,), ((TAKE, TRY_TAKE), (TAKE, TRY_TAKE))))
    assert found.finding is not None
    assert "returned True" in found.finding.summary


def test_what_cannot_be_judged_at_moments_is_a_doubt_and_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = CallJudge._first_unexplained_waiting

    def too_many(judge: CallJudge, *given: Any) -> Any:
        if any(call.earliest for call in judge._called if isinstance(call, CalledBy)):
            raise TooManyWaysError("too many ways")
        return judged(judge, *given)

    monkeypatch.setattr(CallJudge, "_first_unexplained_waiting", too_many)
    found = explored("BadBucket", ObjectProgram((TAKE,), ((TAKE, TRY_TAKE), (TAKE, TRY_TAKE))))
    assert found.coverage is Coverage.NO_PROOF
    assert "too many ways" in found.note


@pytest.mark.parametrize(("seconds", "status"), [(0.6, Status.OK), (0.4, Status.VIOLATION)])
def test_real_threads_may_be_late(seconds: float, status: Status) -> None:
    """The clock of the history counts: a token is due after half a second."""
    specification = exploration_target("GoodBucket")._object_type.specification(ObjectProgram())
    yes, late = Outcome(True), int(seconds * SECOND)
    calls = [
        Call(0, TRY_TAKE, 1, 10, yes),
        Call(1, HAS_TOKEN, 5, 12, Outcome(False)),
        Call(0, TRY_TAKE, late, late + 10, yes),
    ]
    assert check_calls(specification, specification.initial(ObjectProgram()), calls, created=0).status is status
    assert check_calls(specification, specification.initial(ObjectProgram()), calls).status is Status.VIOLATION


LEASE = '''
import time


class Lease:
    """It is valid for 30 microseconds: a real thread finds that it has expired, a virtual one that it has not."""

    def __init__(self):
        self._until = time.monotonic() + 3e-5

    def is_valid(self):
        return time.monotonic() < self._until

    def renew(self):
        self._until = time.monotonic() + 3e-5
'''


def test_the_speed_of_the_machine_decides_nothing(tmp_path: Path) -> None:
    """Calls that read the clock are not compared with real threads, where they may be slower."""
    (tmp_path / "lease.py").write_text(LEASE, encoding="utf-8")
    spec = f"{tmp_path / 'lease.py'}:Lease"
    kind = class_type_name(spec)
    options = SuiteOptions(kind=kind, phases=("explorer",), programs=12, budget_seconds=600.0)
    result = run_suite(spec, options)
    assert (result.status, result.findings, result.methods.not_compared) == (Status.OK, (), ())
