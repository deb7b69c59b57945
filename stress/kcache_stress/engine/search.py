"""Search: runs actors under one strategy until there is a problem, nothing is left, or a budget is spent."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Generic

from kcache_model.finding import FindingKind
from kcache_model.thread_time import idle_seconds

from .execution import A, Execution, Judge, Problem, Runner
from .happens_before import HappensBefore
from .schedule import schedule_of
from .schedule_replay import Replay
from .strategy import Coverage, Ending, Step, Strategy

_CUT = "runs forever under some schedules; only their first steps were run"
_WITHHELD = "this wait could time out at more moments than were tried: at most two waits of an execution end early"
_MOST_WORK = 3
"""The least number of executions may take at most this many times :attr:`SearchLimits.seconds` of CPU time, or
:data:`_LONG_SECONDS` for each execution if that is more."""
_LONG_SECONDS = 0.25
"""Seconds of CPU time; an execution that takes longer is long. In most searches, the least number of executions takes a
second in all."""
PATIENT = "waits of 50 ms or more end only when nothing else can go on"
_LEAST_EVENTS = 80_000
"""Number of events of all executions together after which the least number of executions is no longer required."""
_FAIR_STEPS = 50
_OBSTACLES_SHOWN = 3
_FAIR_ATTEMPTS = 2


@dataclass(frozen=True)
class SearchLimits:
    """Limits at which a search ends.

    Attributes:
        executions: the most executions.
        seconds: the most seconds of wall-clock time.
        least: number of executions that are run even if the seconds are over, so that a busy machine has the same
            results. It does not apply if executions have many events, wait for the outside world, or use much CPU time.
        events: the most events of all executions together.
    """

    executions: float = 1_000_000
    seconds: float = 3600.0
    least: int = 0
    events: float = inf


@dataclass(frozen=True)
class SearchResult(Generic[A]):
    """Result of a search.

    Attributes:
        coverage: how much of the interleavings the search covered.
        executions: number of executions, including redundant ones.
        events: number of events in all executions.
        problem: the first problem; ``None`` if there is none.
        execution: the execution that showed the problem.
        order: the happens-before relation of that execution, if the strategy computes it.
        seconds: duration of the search.
        note: the reason why an exhausted search proves nothing; empty if there is none.
        contended: the places whose orders cost most executions, if the search was cut short.
        assumes: what an exhausted search takes for granted about waits with a timeout; empty if there was no such wait.
    """

    coverage: Coverage
    executions: int
    events: int
    problem: Problem | None = None
    execution: Execution[A] | None = None
    order: HappensBefore | None = None
    seconds: float = 0.0
    note: str = ""
    assumes: str = ""
    contended: tuple[tuple[type, object], ...] = ()


def search(
    runner: Runner[A],
    strategy: Strategy,
    judge: Judge[A] | None,
    limits: SearchLimits | None = None,
    *,
    on_execution: Callable[[Execution[A]], None] | None = None,
) -> SearchResult[A]:
    """Run executions until ``judge`` returns a problem, the strategy has no more, or the limits are reached.

    Args:
        runner: runs the actors.
        strategy: chooses the schedules.
        judge: judges each execution; ``None`` to judge none.
        limits: the limits of the search.
        on_execution: called with each execution that is not endless, redundant or infeasible.
    """
    limits = limits or SearchLimits()
    began, idle, worked = time.monotonic(), idle_seconds(), time.thread_time()
    executions = events = 0
    patient = False
    cut = note = withheld = assumes = ""
    proof_obstacles: dict[str, None] = {}
    try:
        while True:
            execution = runner.run(strategy)
            executions += 1
            events += len(execution.trace)
            withheld = withheld or execution.timeouts_withheld
            patient = patient or execution.was_patient
            proof_obstacles.update(dict.fromkeys(execution.proof_obstacles))
            # An execution without actors ended before it began: its setup waits for ever.
            step = Step(execution.trace, execution.ending, execution.actors)
            order = strategy.learn(step) if execution.actors else None
            problem: Problem | None = None
            if execution.ending is Ending.ENDLESS:
                cut = cut or runner.place()
                execution.problem, order = _livelock(runner, execution, strategy.most_events), None
                problem = execution.problem if judge is None else judge.judge(execution, None)
            elif execution.ending not in (Ending.REDUNDANT, Ending.INFEASIBLE):
                if on_execution is not None:
                    on_execution(execution)
                problem = None if judge is None else judge.judge(execution, order)
            if problem is not None:
                seconds = time.monotonic() - began
                return SearchResult(Coverage.BUDGET_SPENT, executions, events, problem, execution, order, seconds)
            if not strategy.has_more():
                coverage = strategy.coverage
                proof_obstacles |= strategy.proof_obstacles | getattr(judge, "proof_obstacles", {})
                if coverage is Coverage.EXHAUSTED and proof_obstacles:
                    coverage, note = Coverage.NO_PROOF, "; ".join(itertools.islice(proof_obstacles, _OBSTACLES_SHOWN))
                elif coverage is Coverage.EXHAUSTED and (cut or withheld):
                    coverage, note = Coverage.NO_PROOF, f"{cut}: {_CUT}" if cut else f"{withheld}: {_WITHHELD}"
                elif coverage is Coverage.EXHAUSTED and patient:
                    assumes = PATIENT
                break
            has_least = executions >= limits.least or events >= _LEAST_EVENTS
            is_late = time.monotonic() - began > limits.seconds and (
                has_least
                or idle_seconds() - idle > limits.seconds
                or time.thread_time() - worked > max(_MOST_WORK * limits.seconds, _LONG_SECONDS * executions)
            )
            if executions >= limits.executions or events >= limits.events or is_late:
                coverage = Coverage.BUDGET_SPENT
                break
        seconds = time.monotonic() - began
        contended = strategy.contended if coverage is Coverage.BUDGET_SPENT else ()
        return SearchResult(
            coverage, executions, events, seconds=seconds, note=note, assumes=assumes, contended=contended
        )
    finally:
        runner.clean_up()


def _livelock(runner: Runner[A], execution: Execution[A], most_events: int) -> Problem | None:
    """Return a livelock if an endless execution does not end either when all actors get fair turns, else ``None``.

    The fair runs follow the first half of the schedule, then switch about every :data:`_FAIR_STEPS` steps.
    """
    if runner.granularity.is_of_opcodes:
        return None  # most_events opcodes are few: the execution may still end
    steps = len(execution.trace)
    begun = schedule_of(execution.trace[: min(steps, most_events) // 2], runner.granularity)
    for seed in range(_FAIR_ATTEMPTS):
        if runner.run(Replay(begun, _FAIR_STEPS, seed)).ending is not Ending.ENDLESS:
            return None
    return Problem(FindingKind.LIVELOCK, f"the threads run forever: {steps} steps, with fair turns for each thread")
