"""Calls that wait because another call has ended badly. Either no call can end the wait, or one can."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcache_model.finding import FindingKind
from kcache_model.history import FINAL_THREAD, Call
from kcache_model.object_types.method_call import MethodCall
from kcache_model.outcomes import WAITS, Outcome, returned
from kcache_model.verdict import Status
from stateful_tests.material.front_door import dead_ends
from stateful_tests.test_front_door import checked
from stateful_tests.test_waiting_classes import exploration_target

FILE = Path(dead_ends.__file__)
PAIRS = {
    "KeepsAfterError": "ReleasesAfterError",
    "KeepsAtReturn": "LetsGoByAnotherCall",
    "LosesPermit": "ReturnsPermit",
    "StaysBusy": "GetsFree",
    "KeepsWhatTheCallbackRaised": "ReleasesWhatTheCallbackRaised",
    "KeepsInTask": "ReleasesInTask",
    "WaitsForItself": "SignalsByLock",
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_call_that_makes_all_others_wait_is_found(name: str) -> None:
    result = checked(name, 40, file=FILE)
    assert result.status is Status.VIOLATION, result.reasons
    (finding,) = result.findings
    assert (finding.kind, finding.unconfirmed) == (FindingKind.DEADLOCK, "")
    assert finding.interleaving is not None
    assert finding.interleaving.calls


@pytest.mark.parametrize("name", [*PAIRS.values(), "KnowsItsOwner", "HandsOut", "TakesAtMostOnce", "WaitsForSeveral"])
def test_a_wait_that_another_call_ends_is_right(name: str) -> None:
    result = checked(name, 30, file=FILE)
    assert (result.status, result.findings) == (Status.OK, ())


@pytest.mark.parametrize("thread", [1, FINAL_THREAD])
@pytest.mark.parametrize(
    ("kind", "ended", "outcome", "waiting", "expected"),
    [
        ("KeepsAfterError", MethodCall("put", (1, 2)), Outcome(error="ValueError"), "get:1", Status.VIOLATION),
        ("LetsGoByAnotherCall", MethodCall("lock"), returned(None), "lock", Status.OK),
        ("WaitsForSeveral", MethodCall("expect"), returned(None), "wait", Status.OK),
    ],
)
def test_a_history_of_real_threads_may_end_in_a_dead_end(
    kind: str, ended: MethodCall, outcome: Outcome, waiting: str, expected: Status, thread: int
) -> None:
    made = exploration_target(f"{FILE}:{kind}")
    name, _, key = waiting.partition(":")
    calls = [
        Call(0, ended, 0, 1, outcome),
        Call(thread, MethodCall(name, (int(key),) if key else ()), 2, None, WAITS),
    ]
    program = made._object_type.usual_ways(made.target)[0]
    assert made._object_type.judged(program, calls, strict_errors=False).status is expected
