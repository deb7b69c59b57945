"""Calls that are counted while they run functions of their callers, and objects that share what their class holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kcache.cli import main
from kcache_conformance.phases.phase import PhaseOutcome
from kcache_model.history import Call
from kcache_model.object_types.callbacks import Behaviour, Callback
from kcache_model.object_types.checking import may_be_refused
from kcache_model.object_types.method_call import Form, MethodCall
from kcache_model.outcomes import Outcome, returned
from kcache_model.verdict import Status
from stateful_tests.material.front_door import counted
from stateful_tests.test_front_door import checked

FILE = Path(counted.__file__)
JOB = MethodCall("run", (Callback(Behaviour.RETURNS),))
BUSY = Outcome(error="RuntimeError")


@pytest.mark.parametrize(("name", "programs"), [("Gate", 30), ("Gauge", 30), ("Numbers", 60), ("Tickets", 60)])
def test_what_counts_calls_under_way_is_right_and_its_faulty_twin_is_found(name: str, programs: int) -> None:
    result = checked(f"Good{name}", programs, file=FILE)
    assert (result.status, result.findings) == (Status.OK, ()), result.reasons
    result = checked(f"Bad{name}", programs, file=FILE)
    assert result.status is Status.VIOLATION, result.reasons


@pytest.mark.parametrize(("name", "code"), [("GoodLookups", 0), ("BadLookups", 1), ("GoodRecent", 0)])
def test_what_only_reads_by_its_name_may_change_something(name: str, code: int) -> None:
    done = CliRunner().invoke(main, ["verify", f"{FILE}:{name}", "--bound", "2x1"])
    assert done.exit_code == code, done.output
    result = checked(name, 40, file=FILE)
    assert result.status is (Status.VIOLATION if code else Status.OK), result.reasons


def test_methods_of_an_object_of_the_same_class_are_called_if_the_class_holds_a_lock() -> None:
    assert "result_of_fork.next" in checked("GoodNumbers", 5, file=FILE).methods.called


@pytest.mark.parametrize(
    ("operation", "outcome", "open_ones", "expected"),
    [
        (JOB, BUSY, 2, True),
        (JOB, BUSY, 1, False),
        (JOB, returned(1), 2, False),
        (MethodCall("in_flight", form=Form.READ), returned(2), 2, True),
        (MethodCall("in_flight"), returned(2), 2, False),
    ],
)
def test_who_may_have_been_refused_while_several_calls_run_functions(
    operation: MethodCall, outcome: Outcome, open_ones: int, expected: bool
) -> None:
    wrong = Call(9, operation, 10, 20, outcome)
    others = [Call(thread, JOB, thread, 30 if thread < open_ones else thread + 1, returned(1)) for thread in range(3)]
    again = [Call(0, JOB, 12, 14, returned(1))]  # of a thread that counts already
    assert may_be_refused([*others, *again, wrong], wrong) is expected


@pytest.mark.parametrize(("undecided", "is_open"), [(0, False), (5, False), (6, True)])
def test_a_few_rounds_that_are_too_hard_to_judge_leave_a_run_ok(undecided: int, is_open: bool) -> None:
    outcome = PhaseOutcome({"programs": 3, "rounds": 100, "undecided": undecided})
    assert bool(outcome.inconclusive) is is_open
