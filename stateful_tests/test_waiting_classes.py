"""Classes whose calls wait for each other, time out or sleep: right ones pass, however slow a thread; faults show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kcache_conformance.objects.concurrent_phases import explorer
from kcache_conformance.objects.concurrent_phases import stress as real_threads
from kcache_conformance.objects.programs import SHAPES, NoProgramError, random_program
from kcache_conformance.phases.phase import PhaseContext
from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.targets.class_names import class_type_name
from kcache_conformance.targets.target_types import target_type_named
from kcache_model.history import Call
from kcache_model.object_types.checking import check_calls
from kcache_model.object_types.plain import MethodCall, ObjectProgram
from kcache_model.object_types.replay_steps import Stage
from kcache_model.object_types.replayed import ReplaySpecification
from kcache_model.object_types.specification import may_wait_for_ever, real_seconds
from kcache_model.outcomes import WAITS, Outcome, returned
from kcache_model.progress import NoProgress
from kcache_model.verdict import Status
from kcache_stress.objects.findings import Setting
from kcache_stress.objects.object_exploration import ObjectExplorationTarget
from kcache_stress.objects.threads import ObjectStress
from kcache_stress.target.explore import ExploreOptions, explore
from stateful_tests.material.front_door import waits


def calls(text: str) -> tuple[MethodCall, ...]:
    """``get put:1`` as calls."""
    words = [word.partition(":") for word in text.split()]
    return tuple(MethodCall(name, (int(value),) if value else ()) for name, _, value in words)


def program(before: str, *threads: str) -> ObjectProgram:
    return ObjectProgram(calls(before), tuple(map(calls, threads)))


KINDS = [
    ("Mailbox", "LeakyMailbox", program("", "get", "put:1 get", "put:2")),
    ("Countdown", "TornCountdown", program("", "open", "open wait")),
    ("Meeting", "DeafMeeting", program("", "wait", "wait", "abort")),
    ("Swap", "OneSidedSwap", program("", "swap:1", "swap:2", "swap:3")),
    ("Pool", "StolenPool", program("acquire", "acquire", "release acquire", "release")),
    ("Lender", "CarelessLender", program("", "use", "use")),
    ("Bucket", "TornBucket", program("allow", "allow", "allow")),
    ("Retry", "TornRetry", program("", "job", "job")),
    ("Slow", "TornSlow", program("", "add", "add")),
]

RIGHT = [
    *((right, both) for right, _, both in KINDS),
    ("Mailbox", program("", "get")),
    ("Mailbox", program("", "get", "put:1")),
    ("Latch", program("", "wait", "open")),
    ("Meeting", program("", "wait abort", "wait")),
    ("Swap", program("", "swap:1", "swap:2")),
    ("Bucket", program("allow allow", "acquire", "allow")),
    ("Lender", program("", "use", "use use")),
    ("Account", program("", "use", "use use")),
    ("Account", program("use", "use", "use use")),
    ("Seats", program("take", "give", "give take")),
    ("Seats", program("", "take", "take give")),
    ("Seats", program("take", "give take", "take give", "take")),
    ("PoliteSeats", program("take", "give", "give take")),
    ("Turnstile", program("", "use", "use use")),
    ("Worker", program("", "add:1", "add:1")),
    ("Jobs", program("enter:1 enter:3", "run", "run")),
    ("Jobs", program("enter:2 enter:1", "run", "run")),
]


@pytest.fixture(scope="module")
def file() -> Path:
    return Path(waits.__file__)


def exploration_target(target: str) -> ObjectExplorationTarget:
    exploring = target_type_named(class_type_name(target)).exploring
    assert exploring is not None
    made = exploring.exploration_target(target, (), ExploreOptions().granularity)
    assert isinstance(made, ObjectExplorationTarget)
    return made


def specification_of(made: ObjectExplorationTarget) -> Any:
    return made._object_type.specification(ObjectProgram())


def found_in(made: ObjectExplorationTarget, wanted: ObjectProgram) -> Any:
    options = ExploreOptions(executions=500, seconds=600.0, minimise_seconds=0.0, whole_seconds=2.0)
    return explore(made, wanted, options).finding


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "wanted"), RIGHT)
def test_a_right_class_is_not_accused(file: Path, name: str, wanted: ObjectProgram) -> None:
    assert found_in(exploration_target(f"{file}:{name}"), wanted) is None


WRONG = [
    *((wrong, both) for _, wrong, both in KINDS),
    ("CarelessLender", program("", "use", "use use")),
    ("LeakyAccount", program("", "use", "use use")),
    ("DeafAccountThatCounts", program("", "use uses", "use use")),
    ("HastyWorker", program("", "add:1", "add:1")),
    ("DeafTurnstile", program("", "use uses", "use use")),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "wanted"), WRONG)
def test_its_faulty_twin_is(file: Path, name: str, wanted: ObjectProgram) -> None:
    assert found_in(exploration_target(f"{file}:{name}"), wanted) is not None


@pytest.mark.parametrize(
    ("name", "wanted", "waits"),
    [
        ("Meeting", program("", "wait", "wait"), False),
        ("Meeting", program("", "wait", "wait", "wait"), True),
        ("Meeting", program("", "wait", "wait", "wait", "wait"), False),
        ("Meeting", program("", "wait abort", "wait"), False),
        ("Meeting", program("", "wait", "abort"), False),
        ("Swap", program("", "swap:1", "swap:2", "swap:3"), False),  # who is left over times out
        ("Pool", program("acquire", "acquire", "release"), False),
        ("Pool", program("acquire", "acquire release", "acquire"), True),
    ],
)
def test_which_programs_may_wait_for_ever(file: Path, name: str, wanted: ObjectProgram, waits: bool) -> None:
    made = exploration_target(f"{file}:{name}")
    assert may_wait_for_ever(specification_of(made), wanted) is waits


def test_a_wait_with_a_timeout_is_no_waiting_for_ever(file: Path) -> None:
    """Each call of the class may wait for another one, and none for ever."""
    made = exploration_target(f"{file}:Swap")
    for seed in range(5):
        drawn = random_program(seed, made._object_type, made.target, SHAPES)
        assert not may_wait_for_ever(specification_of(made), drawn)


def test_programs_are_drawn_until_the_budget_is_spent_and_missing_ones_are_not_proved(file: Path) -> None:
    """Each attempt replays calls, which may wait: the end of the budget is not only looked at between programs."""
    made = exploration_target(f"{file}:Swap")
    with pytest.raises(NoProgramError):
        random_program(0, made._object_type, made.target, SHAPES, lambda: True)
    spent = PhaseContext(made.target, f"{file}:Swap", is_spent=lambda: True)
    outcome = explorer(made._object_type, spent)
    assert outcome.counts.get("programs", 0) <= 1
    assert not outcome.proved


def test_how_long_programs_wait_is_known_without_waiting(file: Path) -> None:
    made = exploration_target(f"{file}:Mailbox")
    least, most = real_seconds(specification_of(made), program("", "get", "put:1"))
    assert (round(least), round(most)) == (0, 3)
    least, most = real_seconds(specification_of(exploration_target(f"{file}:Slow")), program("", "add", "add"))
    assert round(least, 3) == round(most, 3) == 0.4


@pytest.mark.parametrize(("name", "is_left_out"), [("Swap", True), ("Seats", False)])
def test_rounds_that_wait_for_most_of_the_budget_are_left_to_the_virtual_clock(
    file: Path, name: str, is_left_out: bool
) -> None:
    exploring = exploration_target(f"{file}:{name}")
    context = PhaseContext(
        exploring.target, f"{file}:{name}", options=SuiteOptions(budget_seconds=8.0), seconds=0.1, deadline=0.0
    )
    outcome = real_threads(exploring._object_type, context)
    assert (outcome.refused == "left out: each round waits for 2 s or more") is is_left_out
    assert bool(outcome.counts) is not is_left_out


@pytest.mark.parametrize(("name", "is_wrong"), [("Slow", False), ("TornSlow", True)])
def test_real_threads_that_sleep_are_waited_for(file: Path, name: str, is_wrong: bool) -> None:
    made = exploration_target(f"{file}:{name}")
    stress = ObjectStress(made.target, Setting(made._object_type, made.target.name), NoProgress(), 0, 0.05)
    with stress.underway():
        found = stress.run(program("", "add", "add"))
    assert (found.kind is not None) is is_wrong
    assert not found.hung


def test_calls_without_overlap_are_never_wrong_where_the_class_is_its_own_specification() -> None:
    """Whatever else may be odd: threads have not brought it about."""
    add = MethodCall("add")
    one_after_another = [Call(0, add, 0, 1, returned(1)), Call(1, add, 2, 3, returned(7))]
    at_the_same_time = [Call(0, add, 0, 2, returned(1)), Call(1, add, 1, 3, returned(7))]

    def replay(steps: tuple[Any, ...]) -> Outcome:
        return returned(len(steps))

    for is_of_target in (True, False):
        specification = ReplaySpecification(replay, is_of_target=is_of_target)
        apart = check_calls(specification, (), one_after_another).status
        assert apart is (Status.OK if is_of_target else Status.VIOLATION)
        assert check_calls(specification, (), at_the_same_time).status is Status.VIOLATION


@pytest.mark.parametrize("name", ["Meeting", "Swap", "Countdown"])
def test_a_call_that_another_one_lets_return_is_not_left_out(file: Path, name: str) -> None:
    kind = target_type_named(class_type_name(f"{file}:{name}"))
    assert kind.not_tested(exploration_target(f"{file}:{name}").target) == ()


@pytest.mark.parametrize(("is_late", "status"), [(False, Status.OK), (True, Status.VIOLATION)])
def test_calls_of_real_threads_give_up_while_a_slow_one_is_open(file: Path, is_late: bool, status: Status) -> None:
    """Any number of calls may give up in turn. If no slow call is left, a call that gives up has a fault."""
    use = MethodCall("use")
    gave_up = [Call(1, use, begin, begin + 1, returned("timeout")) for begin in (1, 3, 11 if is_late else 5)]
    history = [Call(0, use, 0, 10, returned(1)), *gave_up]
    specification = specification_of(exploration_target(f"{file}:Lender"))
    initial = specification.initial(ObjectProgram())
    assert check_calls(specification, initial, history).status is status


@pytest.mark.parametrize(("is_seen", "status"), [(False, Status.UNKNOWN), (True, Status.VIOLATION)])
def test_a_call_of_which_only_real_threads_say_that_it_waits_may_as_well_be_slow(is_seen: bool, status: Status) -> None:
    """As one that asks a name server: a verdict must not depend on how fast that answers."""

    class Replay:
        def __call__(self, calls: tuple[Any, ...]) -> Outcome:
            return WAITS if len(calls) == 2 else returned(len(calls))

        def stage(self, steps: tuple[Any, ...]) -> Stage | None:
            return Stage(((WAITS, WAITS),) * len(steps), timeouts=0) if is_seen else None

    add = MethodCall("add")
    history = [Call(0, add, 0, 2, returned(1)), Call(1, add, 1, 3, returned(2))]
    assert check_calls(ReplaySpecification(Replay()), (), history).status is status
