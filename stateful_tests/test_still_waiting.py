"""Calls that wait when no thread goes on: right if some order of the calls leaves them waiting, else a DEADLOCK."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kcache_conformance.objects.directed_programs import contested, overfilled
from kcache_conformance.objects.programs import scope_by_size, waiting_programs
from kcache_model.bound import Bound
from kcache_model.call_program import Cancelled
from kcache_model.finding import FindingKind
from kcache_model.history import Call
from kcache_model.object_types.checking import WAITS_IN_VAIN, check_calls
from kcache_model.object_types.plain import MethodCall, ObjectProgram
from kcache_model.object_types.specification import may_wait_for_ever
from kcache_model.outcomes import WAITS, returned
from kcache_model.progress import NoProgress
from kcache_model.verdict import Status
from kcache_stress.objects.findings import Setting
from kcache_stress.objects.threads import ObjectStress
from kcache_stress.target.explore import ExploreOptions, explore
from stateful_tests.material.front_door import still_waiting
from stateful_tests.test_waiting_classes import exploration_target, program, specification_of

FILE = Path(still_waiting.__file__)

LOST = [
    ("ReadersAndWriters", "DeafWriters", program("begin_write", "begin_read", "begin_write", "end_write")),
    ("Slot", "DeafSlot", program("", "get", "get", "put:1 put:2 put:3 put:4")),
]


@pytest.mark.parametrize(("right", "deaf", "wanted"), LOST, ids=[deaf for _, deaf, _ in LOST])
def test_a_lost_wake_up_is_found_where_other_orders_wait_forever(right: str, deaf: str, wanted: ObjectProgram) -> None:
    options = ExploreOptions(executions=3_000, seconds=600.0, strategy="dpor")
    made = exploration_target(f"{FILE}:{right}")
    assert may_wait_for_ever(specification_of(made), wanted)
    explored = explore(made, wanted, options)
    assert explored.finding is None
    assert explored.is_exhausted, explored.note
    explored = explore(exploration_target(f"{FILE}:{deaf}"), wanted, options)
    assert explored.finding is not None
    assert explored.finding.kind is FindingKind.DEADLOCK
    assert not explored.finding.unconfirmed


@pytest.mark.parametrize("name", ["ReadersAndWriters", "Slot", "Gate", "Polled"])
def test_programs_in_which_a_call_may_wait_forever_belong_to_the_bound(name: str) -> None:
    made = exploration_target(f"{FILE}:{name}")
    programs = list(scope_by_size(made._object_type, made.target, Bound(2, 1)))
    assert any(may_wait_for_ever(made._object_type.specification(some), some) for some in programs)
    assert waiting_programs(made._object_type, made.target, Bound(2, 1), len(programs)) == 0
    options = ExploreOptions(executions=500, seconds=600.0, strategy="dpor")
    for some in programs:
        explored = explore(made, some, options)
        assert explored.finding is None
        assert explored.is_exhausted, explored.note


@pytest.mark.parametrize(("name", "is_found"), [("Counted", False), ("LeakyCounted", True)])
def test_who_looks_again_and_again_waits_as_well(name: str, is_found: bool) -> None:
    """If each look has an effect, an execution ends only by a limit, and proves nothing: the bound leaves it out."""
    made = exploration_target(f"{FILE}:{name}")
    options = ExploreOptions(executions=2, seconds=600.0, strategy="dpor", minimise_seconds=0.0)
    explored = explore(made, program("", "put:1 get", "put:2 get get"), options)
    assert (explored.finding is not None) is is_found
    assert not explored.is_exhausted
    programs = list(scope_by_size(made._object_type, made.target, Bound(2, 1)))
    assert waiting_programs(made._object_type, made.target, Bound(2, 1), len(programs)) > 0


@pytest.mark.parametrize(("name", "is_found"), [("AsyncSlots", False), ("LeakyAsyncSlots", True)])
def test_a_wake_up_that_a_cancelled_call_keeps_is_found(name: str, is_found: bool) -> None:
    """The second waiter may wait forever in another order: if it comes after the one who takes the slot for good."""
    acquire, release = (MethodCall(name, is_async=True) for name in ("acquire", "release"))
    wanted = ObjectProgram((acquire,), ((acquire,), (acquire,), (release,)), 1, Cancelled.STRICT)
    options = ExploreOptions(executions=8_000, seconds=600.0, strategy="dpor", minimise_seconds=0.0)
    explored = explore(exploration_target(f"{FILE}:{name}"), wanted, options)
    assert (explored.finding is not None) is is_found
    assert is_found or explored.is_exhausted, explored.note


@pytest.mark.parametrize("name", ["BusyPut", "RaisingPut", "PatientPut", "Telling"])
def test_a_call_waits_rightly_if_another_one_gave_up_or_was_quicker(name: str) -> None:
    made = exploration_target(f"{FILE}:{name}")
    options = ExploreOptions(executions=2_000, seconds=600.0, strategy="dpor", minimise_seconds=0.0)
    for wanted in (program("", "get", "put:1"), program("", "get", "put:1 get"), program("put:1", "get get", "put:2")):
        explored = explore(made, wanted, options)
        assert explored.finding is None, (wanted, explored.finding.summary)
        assert explored.is_exhausted or name == "PatientPut", (wanted, explored.note)


@pytest.mark.parametrize(("name", "is_put"), [("BusyPut", False), ("PatientPut", False), ("BusyPut", True)])
def test_a_history_of_real_threads_may_end_with_a_call_that_waits(name: str, is_put: bool) -> None:
    """Of real threads, it is not known which timeouts were over; a put that was made must be seen."""
    calls = [Call(0, MethodCall("get"), 0, None, WAITS), Call(1, MethodCall("put", (1,)), 1, 2, returned(is_put))]
    verdict = check_calls(specification_of(exploration_target(f"{FILE}:{name}")), (), calls)
    assert verdict.status is (Status.VIOLATION if is_put else Status.OK)


@pytest.mark.parametrize(("name", "hangs"), [("Slot", False), ("MuteSlot", True)])
def test_threads_whose_wake_up_is_lost_hang(name: str, hangs: bool) -> None:
    made = exploration_target(f"{FILE}:{name}")
    stress = ObjectStress(made.target, Setting(made._object_type, made.target.name), NoProgress(), 0, 0.2)
    with stress.underway():
        kinds = {stress.run(program("", "get", "put:1")).kind for _ in range(12)}
    assert kinds <= {None, FindingKind.HANG}
    assert (FindingKind.HANG in kinds) is hangs


@pytest.mark.parametrize(
    ("name", "wanted", "is_found"),
    [
        ("Channel", program("", "get", "get", "close"), False),
        ("DeafChannel", program("", "get", "get", "close"), True),  # each order in which it begins later raises
        ("Telling", program("", "get", "put:1"), False),
    ],
)
def test_a_call_that_would_raise_now_was_forgotten(name: str, wanted: ObjectProgram, is_found: bool) -> None:
    options = ExploreOptions(executions=2_000, seconds=600.0, strategy="dpor", minimise_seconds=0.0)
    explored = explore(exploration_target(f"{FILE}:{name}"), wanted, options)
    assert (explored.finding is not None) is is_found
    assert is_found or explored.is_exhausted, explored.note


def test_what_tells_of_a_forgotten_call_proves_nothing() -> None:
    options = ExploreOptions(executions=2_000, seconds=600.0, strategy="dpor", minimise_seconds=0.0)
    explored = explore(exploration_target(f"{FILE}:DeafTelling"), program("", "get", "put:1"), options)
    assert explored.finding is None
    assert explored.note == "it is not known whether a call still waits because its wake-up was lost"


DIRECTED = [("Slots(1)", contested), ("Loans(2)", contested), ("Recent(2)", overfilled)]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # blocks of aborted threads
@pytest.mark.parametrize(("name", "programs"), DIRECTED, ids=[name for name, _ in DIRECTED])
@pytest.mark.parametrize("is_wrong", [False, True])
def test_directed_programs_show_faults_that_need_a_third_call(
    name: str, programs: Callable[..., Iterator[Any]], is_wrong: bool
) -> None:
    made = exploration_target(f"{FILE}:{'Torn' * is_wrong}{name}")
    options = ExploreOptions(executions=150, seconds=600.0, minimise_seconds=0.0)
    explored = (explore(made, one, options).finding for one in programs(made._object_type, made.target))
    assert any(finding is not None for finding in explored) is is_wrong


@dataclass(frozen=True)
class Abstract:
    """A class as a table, written apart from it: call -> the states after it, none if it waits."""

    name: str
    start: Any
    after: Callable[[Any, str], Any]
    calls: tuple[str, ...]


def _gate(is_open: bool, call: str) -> Any:
    return {"open": True, "close": False, "wait": True if is_open else None}[call]


def _slot(count: int, call: str) -> Any:
    return {"put:1": 1 if count == 0 else None, "get": 0 if count == 1 else None}[call]


def _readers(state: tuple[int, bool], call: str) -> Any:
    readers, is_written = state
    return {
        "begin_read": None if is_written else (readers + 1, False),
        "begin_write": None if is_written or readers else (0, True),
        "end_write": (readers, False),
    }[call]


ABSTRACT = [
    Abstract("Gate", False, _gate, ("open", "close", "wait")),
    Abstract("Slot", 0, _slot, ("put:1", "get")),
    Abstract("ReadersAndWriters", (0, False), _readers, ("begin_read", "begin_write", "end_write")),
]


def _ends(abstract: Abstract, threads: tuple[tuple[str, ...], ...]) -> set[tuple[int, ...]]:
    """Return how many calls the threads may have made when none can go on; each order is tried."""
    found = set()

    def follow(state: Any, done: tuple[int, ...]) -> None:
        following = [
            (after, (*done[:number], done[number] + 1, *done[number + 1 :]))
            for number, own in enumerate(threads)
            if done[number] < len(own)
            for after in [abstract.after(state, own[done[number]])]
            if after is not None
        ]
        if not following:
            found.add(done)
        for after, then in following:
            follow(after, then)

    follow(abstract.start, (0,) * len(threads))
    return found


def _histories(threads: tuple[tuple[str, ...], ...]) -> Iterator[tuple[tuple[int, ...], list[Call[Any]]]]:
    """Each number of calls that threads of one call might have made, as a history in which all calls overlap."""
    for done in itertools.product(*(range(len(own) + 1) for own in threads)):
        calls = []
        for number, own in enumerate(threads):
            for at, text in enumerate(own[: done[number] + 1]):
                name, _, value = text.partition(":")
                call = MethodCall(name, (int(value),) if value else ())
                is_over = at < done[number]
                outcome = returned(1) if name == "get" else returned(None)
                calls.append(Call(number, call, at, 9 if is_over else None, outcome if is_over else WAITS))
        yield done, calls


@pytest.mark.parametrize("abstract", ABSTRACT, ids=lambda abstract: abstract.name)
def test_who_may_wait_is_what_a_table_of_the_class_says(abstract: Abstract, effort: Callable[..., float]) -> None:
    specification = specification_of(exploration_target(f"{FILE}:{abstract.name}"))
    rng = random.Random(0)
    compared = set()
    for _ in range(int(effort(12, 150))):
        threads = tuple((rng.choice(abstract.calls),) for _ in range(3))
        ends = _ends(abstract, threads)
        for done, history in _histories(threads):
            if all(count == len(own) for count, own in zip(done, threads, strict=True)):
                continue
            verdict = check_calls(specification, (), history)
            assert verdict.status is (Status.OK if done in ends else Status.VIOLATION), (threads, done)
            compared.add(verdict.status)
    assert compared == {Status.OK, Status.VIOLATION}


def test_a_history_says_why_a_call_should_not_wait() -> None:
    specification = specification_of(exploration_target(f"{FILE}:Gate"))
    opened = [Call(0, MethodCall("open"), 0, 3, returned(None)), Call(1, MethodCall("wait"), 1, None, WAITS)]
    assert check_calls(specification, (), opened).reason == WAITS_IN_VAIN
    closed = [*opened, Call(2, MethodCall("close"), 2, 5, returned(None))]
    assert check_calls(specification, (), closed).status is Status.OK
