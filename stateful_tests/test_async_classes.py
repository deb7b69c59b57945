"""Classes with async methods: their calls run in an event loop, may be cancelled, and are judged like other calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kcache import testing as kt
from kcache_conformance.classes.public_calls import async_methods, public_calls
from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.runs.suite import run_suite
from kcache_conformance.targets.class_names import class_type_name
from kcache_conformance.targets.target_types import target_type_named
from kcache_conformance.verification.verify import verify
from kcache_model.bound import parse_bound
from kcache_model.call_program import Cancelled
from kcache_model.object_types.awaiting_driver import AwaitingDriver
from kcache_model.object_types.method_call import Form, MethodCall
from kcache_model.outcomes import CANCELLED, NOT_BEGUN
from kcache_model.progress import NoProgress
from kcache_model.verdict import Status
from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.search import SearchLimits, search
from kcache_stress.engine.strategy import Coverage, Strategy
from kcache_stress.strategies.partial_order_sampling import PartialOrderSampling
from stateful_tests.material.front_door import async_classes
from stateful_tests.material.front_door.async_classes import (
    Bucket,
    CarefulConnector,
    Connector,
    Counter,
    CounterMachine,
    Everything,
    Gate,
    HastyBucket,
    Limiter,
    LockedCounter,
    LockedMachine,
    LosingLimiter,
    Naps,
    Shared,
    ShieldedShared,
    Steps,
    WholeSteps,
)


def _name(kind: type) -> str:
    return f"{async_classes.__file__}:{kind.__name__}"


def _call(name: str, *, is_async: bool = True, form: Form = Form.CALL) -> MethodCall:
    return MethodCall(name, form=form, is_async=is_async)


def explored(
    kind: type,
    *threads: str,
    before: str = "",
    cancel: int = 0,
    cancelled: Cancelled = Cancelled.USUAL,
    strategy: Callable[[], Strategy] = Dpor,
    most: int = 3_000,
) -> tuple[Any, set[Any]]:
    """Explore a program; each thread names its calls, separated by blanks, sync ones with a ``-`` in front.

    The calls ``before`` come before the threads.
    """
    spec = _name(kind)
    target_type = target_type_named(class_type_name(spec))
    loaded = target_type.load(spec)
    assert target_type.exploring is not None
    target: Any = target_type.exploring.exploration_target(spec, (), Granularity.FREE)
    program = target_type.exploring.random_program(loaded, 0, (2, 1), SuiteOptions(kind=target_type.name))
    prefix, *calls = (
        tuple(_call(one.strip("-"), is_async=one[0] != "-") for one in own.split()) for own in (before, *threads)
    )
    program = replace(program, prefix=prefix, threads=tuple(calls), cancellations=cancel, cancelled=cancelled)
    outcomes: set[Any] = set()
    with target.open_runner(program) as (runner, judge):
        result = search(
            runner,
            strategy(),
            judge,
            SearchLimits(most),
            on_execution=lambda run: outcomes.update(one for own in run.outcomes for one in own),
        )
    return result, outcomes


def test_a_call_between_whose_awaits_another_one_comes_is_found() -> None:
    assert explored(Counter, "add", "add")[0].problem is not None
    result, _ = explored(LockedCounter, "add", "add")
    assert (result.problem, result.coverage, result.note) == (None, Coverage.EXHAUSTED, "")


def test_a_waiter_that_is_cancelled_after_it_was_woken_is_found() -> None:
    threads = ("-release acquire -release", "acquire -release")
    assert explored(LosingLimiter, *threads, before="acquire")[0].problem is None

    def sampled(kind: type) -> Any:
        def samples() -> Strategy:
            return PartialOrderSampling(0)

        return explored(kind, *threads, before="acquire", cancel=1, strategy=samples, most=1_600)[0].problem

    found = sampled(LosingLimiter)
    assert found is not None
    assert "never comes" in found.summary
    assert sampled(Limiter) is None
    sound, outcomes = explored(Limiter, "acquire -release", "acquire -release", cancel=1, most=8_000)
    assert (sound.problem, sound.coverage, sound.note) == (None, Coverage.EXHAUSTED, "")
    assert {CANCELLED, NOT_BEGUN} <= outcomes


def test_a_call_may_be_cancelled_at_its_first_await_even_if_that_does_not_wait() -> None:
    problem = explored(Connector, "connect", "connect", cancel=1)[0].problem
    assert problem is not None
    assert "never comes" in problem.summary
    sound, outcomes = explored(CarefulConnector, "connect", "connect", cancel=1)
    assert (sound.problem, sound.coverage) == (None, Coverage.EXHAUSTED)
    assert CANCELLED in outcomes


def test_timers_may_be_due_at_any_moment_also_after_a_call_that_waited_for_one() -> None:
    """Each call has a timer of its own: more than the two waits of threads that may be cut short in one execution."""
    result, outcomes = explored(Naps, "nap nap", "nap nap", before="nap")
    assert (result.problem, result.coverage, result.note) == (None, Coverage.EXHAUSTED, "")
    assert {outcome.value for outcome in outcomes} == {2, 3, 4, 5}


def test_a_verification_names_what_it_takes_for_granted() -> None:
    options = SuiteOptions(kind=class_type_name(_name(WholeSteps)), cancel=1, cancelled=Cancelled.STRICT)
    tally = verify(_name(WholeSteps), parse_bound("2x1"), replace(options, budget_seconds=600.0)).tally
    assert (tally.finding, tally.exhausted) == (None, tally.programs)
    assert tally.assumes == (
        "callbacks run in the order in which they became ready, as in asyncio, and at most 1 call is cancelled from "
        "outside, which then must have no effect"
    )


def test_a_cancelled_call_must_have_had_no_effect_if_the_user_says_so() -> None:
    for kind, cancelled in ((Steps, Cancelled.USUAL), (WholeSteps, Cancelled.USUAL), (WholeSteps, Cancelled.STRICT)):
        sound, outcomes = explored(kind, "step", "step", cancel=1, cancelled=cancelled)
        assert (sound.problem, sound.coverage) == (None, Coverage.EXHAUSTED)
        assert CANCELLED in outcomes
    found, _ = explored(Steps, "step", "step", cancel=1, cancelled=Cancelled.STRICT)
    assert found.problem is not None
    assert "steps()" in found.problem.summary


def test_strict_cancellation_is_checked_and_replayed() -> None:
    kind = class_type_name(_name(Steps))
    strict = SuiteOptions(
        kind=kind, phases=("explorer",), programs=20, budget_seconds=600.0, cancelled=Cancelled.STRICT, most_findings=1
    )
    usual = replace(strict, cancelled=None)
    assert run_suite(_name(Steps), usual).status is Status.OK
    assert run_suite(_name(WholeSteps), replace(strict, kind=class_type_name(_name(WholeSteps)))).status is Status.OK
    (finding,) = run_suite(_name(Steps), strict).findings
    target_type, watch = target_type_named(kind), NoProgress()
    token = target_type.tokens.decode(finding.schedule or "")
    assert token.program.cancelled is Cancelled.STRICT
    assert target_type.replay(token, watch).status is Status.VIOLATION


def test_a_cancelled_call_that_cancels_another_one_is_found() -> None:
    assert explored(Shared, "get", "get")[0].problem is None
    found, _ = explored(Shared, "get", "get", cancel=1)
    assert found.problem is not None
    assert "CancelledError" in found.problem.summary
    sound, outcomes = explored(ShieldedShared, "get", "get", cancel=1)
    assert (sound.problem, sound.coverage) == (None, Coverage.EXHAUSTED)
    assert CANCELLED in outcomes


@pytest.mark.parametrize(("threads", "cancel"), [(("acquire", "-has_room"), 0), (("acquire", "acquire"), 1)])
def test_what_depends_on_the_time_that_others_have_waited_is_no_fault(threads: tuple[str, ...], cancel: int) -> None:
    assert explored(Bucket, *threads, before="acquire", cancel=cancel)[0].problem is None


def test_a_limit_that_is_exceeded_is_found_although_it_depends_on_the_time() -> None:
    assert explored(HastyBucket, "acquire -level", "acquire -level")[0].problem is not None


def test_a_call_without_which_the_others_would_wait_is_not_cancelled() -> None:
    result, outcomes = explored(Gate, "passed", "opened", cancel=1)
    assert (result.problem, result.coverage) == (None, Coverage.EXHAUSTED)
    assert CANCELLED in outcomes  # the task that waits for the gate


@pytest.mark.parametrize("name", ["Lock", "Event", "Semaphore", "BoundedSemaphore", "Queue"])
def test_the_classes_of_asyncio_are_not_accused(name: str) -> None:
    spec = f"asyncio:{name}"
    result = run_suite(spec, SuiteOptions(kind=class_type_name(spec), programs=6, budget_seconds=60.0))
    assert not [finding for finding in result.findings if finding.status is Status.VIOLATION]
    assert result.status in (Status.OK, Status.UNKNOWN)


def test_each_kind_of_async_call_is_known_and_made() -> None:
    assert async_methods(Everything)
    assert not async_methods(dict)
    calls = {call.name: call for call in public_calls(Everything, asyncio.run(_created()))}
    assert {name for name, call in calls.items() if call.is_async} == {
        *("__aenter__.enter", "__aenter__.exit", "__aiter__", "get", "items", "opened.enter", "opened.exit")
    }
    driver = AwaitingDriver(Everything, None)
    made = {
        _call("get"): 0,
        _call("items", form=Form.ITERATE): (0, 1, 2),
        _call("opened.enter", form=Form.ENTER): 1,
        _call("size", is_async=False): 1,
        _call("__aenter__.enter", form=Form.ENTER): None,
        _call("__aiter__", form=Form.ITERATE): (2,),
        _call("__aenter__.exit", form=Form.EXIT): False,
        _call("opened.exit", form=Form.EXIT): False,
    }
    for call, value in made.items():
        outcome = driver.call(call, 0)
        assert (outcome.error, outcome.value) == (None, value), str(call)
    texts = list(map(str, made))
    assert texts[:4] == ["await get()", "[item async for item in items()]", "async with opened()", "size()"]
    assert texts[4:] == [
        "async with self",
        "[item async for item in self]",
        "end of async with self",
        "end of async with opened",
    ]


async def _created() -> Everything:
    return Everything()


def test_the_rules_of_a_machine_may_be_async() -> None:
    LockedMachine.TestCase("runTest").debug()
    with pytest.raises(kt.ConformanceError):
        kt.in_threads(CounterMachine, programs=20)("test_explorer").debug()
    kt.in_threads(LockedMachine, programs=3)("test_explorer").debug()
