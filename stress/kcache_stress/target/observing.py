"""Observation of a program: what its threads touch, against what the instrumentation reports."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from math import inf
from typing import Final

from ..engine.dpor import DivergedError, Dpor
from ..engine.execution import A, Execution
from ..engine.schedule_replay import Replay
from ..engine.scheduling import FOREVER
from ..engine.search import SearchLimits, SearchResult, search
from ..engine.strategy import Coverage, Ending, Strategy
from ..modules.observer import Observer
from ..modules.target_runner import TargetRunner
from ..strategies.partial_order_sampling import PartialOrderSampling
from .exploration_result import RunnerAndJudge

_DRAWS: Final = 3
"""Number of observed executions with a random schedule, after those that run one thread after another."""


def gap_in_reports(runner: TargetRunner[A], most: float = inf) -> str:
    """Return two accesses that depend on each other and that no event orders, as text; empty if none were seen.

    The threads run one after another, each of them first in one execution, then under a few random schedules.

    Args:
        runner: runs the threads.
        most: the most executions.
    """
    strategies: list[Strategy] = [
        Replay(((actor, FOREVER),)) for actor in range(runner.sandbox.scheduler.program_actors)
    ]
    strategies += [PartialOrderSampling(seed) for seed in range(_DRAWS)]
    with _observed(runner) as gap_of:
        tried = strategies[: int(min(most, len(strategies)))]
        return next(filter(None, (gap_of(runner.run(strategy)) for strategy in tried)), "")


def proved_by_observation(
    runner_and_judge: RunnerAndJudge[A], limits: SearchLimits, note_outcome: Callable[[Execution[A]], None]
) -> SearchResult[A] | None:
    """Search once more, with an observer of all executions; return the result if it is a proof.

    Uses of attributes that expose internals of Python are then no obstacle: what they touch, and what other threads
    touch, is seen by the observer. It must be ordered by events, such as those of a lock.

    Args:
        runner_and_judge: the program.
        limits: the limits of the search.
        note_outcome: called with each execution.
    """
    runner, judge = runner_and_judge
    gaps: list[str] = []

    def look(execution: Execution[A]) -> None:
        note_outcome(execution)
        if not gaps and (gap := gap_of(execution)):
            gaps.append(gap)

    runner.sandbox.foreign_code.is_observed = True
    try:
        with _observed(runner) as gap_of:
            result = search(runner, Dpor(), judge, limits, on_execution=look)
    except DivergedError:
        return None
    finally:
        runner.sandbox.foreign_code.is_observed = False
    return result if result.coverage is Coverage.EXHAUSTED and not gaps else None


@contextlib.contextmanager
def _observed(runner: TargetRunner[A]) -> Iterator[Callable[[Execution[A]], str]]:
    """Context in which executions are observed; yield a function that returns the gap in their reports."""
    sandbox = runner.sandbox
    observer = sandbox.observer = Observer(sandbox.scheduler, sandbox.foreign_code)

    def gap_of(execution: Execution[A]) -> str:
        if execution.ending not in (Ending.COMPLETE, Ending.DEADLOCK) or not execution.actors:
            return ""
        return observer.gap(execution.trace, execution.actors)

    try:
        yield gap_of
    finally:
        sandbox.observer = None
        runner.clean_up()
