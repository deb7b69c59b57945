"""Workers of an executor in C's queue: what they may have done between two calls explains what the calls return."""

from __future__ import annotations

from typing import Any

import pytest

from kcache_model.history import Call
from kcache_model.object_types.plain import ObjectProgram
from kcache_model.outcomes import returned
from kcache_model.verdict import Status
from kcache_stress.target.explore import ExploreOptions, explore
from stateful_tests.test_waiting_classes import exploration_target

EXECUTOR = "concurrent.futures:ThreadPoolExecutor(2)"


def _calls(names: tuple[str, ...]) -> dict[str, Any]:
    """The calls of an executor by the ends of their names."""
    vocabulary = exploration_target(EXECUTOR)._object_type.vocabulary
    made = {template.name.removeprefix("result_of_submit."): next(template.smallest(0)) for template in vocabulary}
    return {name: made[name] for name in names}


SUBMITTED = [(0, "submit", "a Future"), (1, "submit", "a Future")]


@pytest.mark.parametrize(
    ("further", "expected"),
    [
        # A worker has taken the first item and is slow; the other one has finished the second.
        ([(1, "cancel", False), (0, "cancel", True)], Status.OK),
        ([(0, "cancel", True), (1, "cancel", True)], Status.OK),
        ([(0, "cancel", True), (0, "cancelled", False)], Status.VIOLATION),
        ([(0, "cancel", False), (0, "running", False), (0, "done", False)], Status.VIOLATION),
    ],
)
def test_a_worker_may_be_slow_after_it_has_taken_an_item(
    further: list[tuple[int, str, object]], expected: Status
) -> None:
    made = exploration_target(EXECUTOR)
    steps = [*SUBMITTED, *further]
    named = _calls(tuple(name for _, name, _ in steps))
    calls = [
        Call(thread, named[name], 2 * at, 2 * at + 1, returned(value)) for at, (thread, name, value) in enumerate(steps)
    ]
    # The specification finds out that the class starts threads when it first replays a call.
    program = made._object_type.completed(ObjectProgram((), ((named["submit"],), (named["submit"],))))
    made._object_type.specification(program).effects((), calls[0].operation)
    assert made._object_type.judged(program, calls, strict_errors=False).status is expected


def test_cancelling_beside_slow_workers_is_no_fault() -> None:
    made = exploration_target(EXECUTOR)
    named = _calls(("submit", "cancel"))
    threads = ((named["submit"], named["cancel"]),) * 2
    program = made._object_type.completed(ObjectProgram((), threads))
    assert explore(made, program, ExploreOptions(executions=600, seconds=600.0)).finding is None
