"""Reproduction of a problem that a search has found: a schedule that shows it again, with few preemptions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Final

from ..engine.counterexample import Counterexample, counterexample, smallest
from ..engine.dpor import DivergedError
from ..engine.execution import A, Problem
from ..engine.granularity import Granularity
from ..engine.happens_before import happens_before
from ..engine.schedule import schedule_of
from ..engine.schedule_replay import Replay
from ..engine.search import SearchLimits, SearchResult, search
from ..engine.strategy import Coverage
from ..runtime.threads.virtual_thread import UncontrolledError
from ..strategies.naive import Naive
from ..strategies.partial_order_sampling import PartialOrderSampling
from .exploration_result import ExplorationResult, OpenRunner, RunnerAndJudge

_UNREDUCED_EXECUTIONS: Final = 1_000
_INHERITED: Final = "it fails only after earlier executions have changed what its modules hold"
_UNSEEN: Final = (
    "calls depend on each other in code that the explorer cannot see (C, eval, another package), although they look "
    "independent; name the package with --instrument, or use --strategy naive and stress"
)
_UNSETTLED: Final = (
    "some orders of calls that the happens-before relation allows could not be judged, because the steps of this "
    "granularity are too long; use --granularity free"
)


def with_counterexample(
    runner_and_judge: RunnerAndJudge[A], result: ExplorationResult[A], search_result: SearchResult[A], seconds: float
) -> ExplorationResult[A]:
    """Add a counterexample to the result; if no possible order of steps shows the problem, return it without."""
    runner, judge = runner_and_judge
    reproduction = counterexample(runner, judge, search_result)
    if reproduction is None:  # calls depend on each other in unobserved code, so only orders that really ran count
        for strategy in (PartialOrderSampling(0), Naive()):
            search_result = search(runner, strategy, judge, SearchLimits(_UNREDUCED_EXECUTIONS, seconds))
            result = replace(result, executions=result.executions + search_result.executions)
            if search_result.problem is not None:
                reproduction = counterexample(runner, judge, search_result)
                break
    result = replace(result, coverage=Coverage.BUDGET_SPENT)
    if reproduction is None:
        is_free = runner.sandbox.granularity is Granularity.FREE
        return replace(result, note=_UNSEEN if is_free else _UNSETTLED)
    if isinstance(reproduction, Problem):
        return replace(result, problem=reproduction)
    unseen = runner.sandbox.unseen(reproduction.execution.trace, reproduction.execution.hurry)
    return replace(result, problem=reproduction.problem, counterexample=reproduction, unseen=unseen)


def in_new_modules(
    runner_and_judge: RunnerAndJudge[A], result: ExplorationResult[A], search_result: SearchResult[A], seconds: float
) -> ExplorationResult[A]:
    """Reproduce the problem in reloaded modules, then do the same as :func:`with_counterexample`.

    Values that earlier executions left in the modules may be the cause, so the problem must also occur without them.
    If each execution leaves values in the modules, only the schedule of the failing execution is replayed.
    """
    runner, judge = runner_and_judge
    leftover, execution, problem = runner.reset.leftover, search_result.execution, search_result.problem
    assert execution is not None
    assert problem is not None
    schedule = schedule_of(execution.trace, runner.sandbox.granularity)
    runner.reset.reload()
    again = runner.run(Replay(schedule))
    order = None if leftover or search_result.order is None else happens_before(again.trace, again.actors)
    repeated = judge.judge(again, order)
    if repeated is None and not leftover:  # the first execution imports modules, so the schedule does not fit it
        runner.reset.reload()
        runner.run(Replay(()))
        again = runner.run(Replay(schedule))
        order = None if search_result.order is None else happens_before(again.trace, again.actors)
        repeated = judge.judge(again, order)
    if repeated is None or repeated.kind is not problem.kind:
        return replace(result, coverage=Coverage.NO_PROOF, note=f"{leftover or _INHERITED}: {problem.summary}")
    if not leftover:
        search_result = replace(search_result, problem=repeated, execution=again, order=order)
        return with_counterexample(runner_and_judge, result, search_result, seconds)
    unseen = runner.sandbox.unseen(again.trace, again.hurry)
    counterexamplein_new_modules = Counterexample(schedule, repeated, again, again.preemptions)
    return replace(result, problem=repeated, counterexample=counterexamplein_new_modules, unseen=unseen)


def with_fewest_preemptions(
    open_runner: Callable[[Granularity], OpenRunner[A]], result: ExplorationResult[A], seconds: float = inf
) -> ExplorationResult[A]:
    """Return the result with the smallest counterexample found within ``seconds``; unchanged if there is none."""
    if result.counterexample is None or seconds <= 0:
        return result
    with open_runner(result.granularity) as (runner, judge):
        try:
            best = smallest(runner, judge, result.counterexample, seconds)
        except (DivergedError, UncontrolledError):
            return result
        unseen = runner.sandbox.unseen(best.execution.trace, best.execution.hurry)
    return replace(result, problem=best.problem, counterexample=best, unseen=unseen)
