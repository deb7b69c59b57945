"""Counterexample of a problem: a schedule that shows the problem each time, with as few preemptions as possible.

A search reports a problem of a schedule, or of an equivalent schedule. This module realises that schedule, repeats it,
and minimizes it. If a preemption-bounded search comes to its end, the result has the fewest preemptions possible.
"""

from __future__ import annotations

import enum
import time
from dataclasses import dataclass, replace
from math import inf
from typing import Generic

from kcache_model.finding import FindingKind

from .events import KIND_NAMES, parts_of
from .execution import A, Execution, HiddenTime, Judge, Problem, Runner
from .granularity import Granularity
from .happens_before import HappensBefore
from .orders import realising_threads
from .preemption_bounded import PreemptionBounded
from .schedule import Schedule, as_runs, as_steps, schedule_of
from .schedule_replay import Replay
from .search import SearchLimits, SearchResult, search
from .strategy import Coverage

SHOWN_ONCE = "it showed a problem once"
"""Beginning of the message about a problem that the same schedule does not show again."""

_REPETITIONS = 2
# The limit is a number, so that a slow machine has the same result; the seconds are for slow executions.
_BOUNDED = SearchLimits(executions=2_000, seconds=10.0)
_LONG_EXECUTIONS = 5
"""Number of executions if executions are long: a bounded search of long executions does not come to its end."""
_FEW = 5
"""Number of preemptions above which a preemption-bounded search has too many schedules to come to its end."""
_MANY = 30
"""Number of preemptions above which removing them one by one would take too long, so whole parts are removed first.
With fewer preemptions they are removed one by one only, because the result is easier to read."""

_GREEDY_EXECUTIONS = 300
_GREEDY_SECONDS = 5.0


class Possible(enum.StrEnum):
    """Interpreters that can run into a counterexample."""

    WITH_GIL = "possible under the GIL"
    FREE_THREADED = "possible only in free-threaded Python"
    PAUSED = "free-threaded Python can switch there at any time, CPython with a GIL only if something pauses the thread"
    """Real threads with a GIL run into it if something pauses them there, such as a tracer or an added call."""
    UNKNOWN = "not known whether it is possible under the GIL"


@dataclass(frozen=True)
class Counterexample(Generic[A]):
    """Schedule that shows a problem each time.

    Attributes:
        schedule: the schedule.
        problem: the problem.
        execution: one execution of the schedule.
        preemptions: number of switches away from an actor that could have gone on.
        is_minimal: whether no schedule with fewer preemptions shows a problem.
    """

    schedule: Schedule
    problem: Problem
    execution: Execution[A]
    preemptions: int
    is_minimal: bool = False


def counterexample(runner: Runner[A], judge: Judge[A], result: SearchResult[A]) -> Counterexample[A] | Problem | None:
    """Realise and repeat the problem of a search; return its counterexample.

    If the same schedule does not lead to the same execution each time, return a problem of kind NONDETERMINISM. If it
    leads to the same execution without the problem, return ``None``: the calls depend on each other in code that is not
    instrumented, so the order of the calls that showed the problem is impossible, and nothing is reported. A LIVELOCK
    is returned as it is.
    """
    execution, problem = result.execution, result.problem
    assert execution is not None
    assert problem is not None
    if problem.kind is FindingKind.LIVELOCK:
        return problem
    schedule = realised(execution, problem, result.order, runner.granularity)
    repeated = _repeated(runner, judge, schedule)
    if repeated is None:
        is_real = result.order is None or not problem.order
        return _differs(runner, schedule) or (_once(problem) if is_real else None)
    return repeated


def realised(
    execution: Execution[A], problem: Problem, order: HappensBefore | None, granularity: Granularity
) -> Schedule:
    """Return the schedule of the execution, or of the equivalent execution with the call order of the problem."""
    if order is not None and problem.order and granularity is Granularity.FREE:
        return as_runs(realising_threads(execution, order, problem.order))
    return schedule_of(execution.trace, granularity)


def smallest(runner: Runner[A], judge: Judge[A], best: Counterexample[A], seconds: float = inf) -> Counterexample[A]:
    """Return the counterexample with the fewest preemptions that can be reached in the seconds."""
    deadline = time.monotonic() + seconds
    if best.preemptions > _FEW:
        half = time.monotonic() + seconds / 2
        if best.preemptions > _MANY:
            best = _coarse(runner, judge, best, time.monotonic() + seconds / 4)
        best = _greedy(runner, judge, best, half)
        return _bounded(runner, judge, best, max(deadline - time.monotonic(), 0.0)) or best
    return _bounded(runner, judge, best, seconds / 2) or _greedy(runner, judge, best, deadline)


def replayed(runner: Runner[A], judge: Judge[A], schedule: Schedule) -> tuple[Execution[A], Problem | None, bool]:
    """Run one schedule; return the execution, its problem, and whether the schedule could be followed.

    If a hurried execution shows a problem, it is run twice more. Then the clock hides from actors the time that passes
    while they, or any actor, can go on. If both runs show the problem, the execution does not count as hurried.
    """
    strategy = Replay(schedule)
    execution = runner.run(strategy)
    problem = judge.judge(execution)
    if problem is not None and execution.hurry and _fails_unhurried(runner, judge, schedule, problem):
        execution.hurry = ""
    return execution, problem, strategy.followed


def _fails_unhurried(runner: Runner[A], judge: Judge[A], schedule: Schedule, problem: Problem) -> bool:
    try:
        for hidden in (HiddenTime.OWN, HiddenTime.ALL):
            runner.hide_time(hidden)
            observed = judge.judge(runner.run(Replay(schedule)))
            if observed is None or observed.kind is not problem.kind:
                return False
    finally:
        runner.hide_time(HiddenTime.NOTHING)
    return True


def _repeated(runner: Runner[A], judge: Judge[A], schedule: Schedule) -> Counterexample[A] | None:
    """Return a counterexample if each of several runs of the schedule shows a problem of the same kind."""
    runs = [replayed(runner, judge, schedule) for _ in range(_REPETITIONS)]
    first, problem, _ = runs[0]
    if problem is None or any(other is None or other.kind is not problem.kind for _, other, _ in runs):
        return None
    return Counterexample(schedule, problem, first, first.preemptions)


def _bounded(
    runner: Runner[A], judge: Judge[A], original: Counterexample[A], seconds: float
) -> Counterexample[A] | None:
    """Search with fewer preemptions; return the minimal counterexample, or ``None`` if the search is inconclusive."""
    if original.preemptions == 0:
        return replace(original, is_minimal=True)
    strategy = PreemptionBounded(original.preemptions - 1)
    executions = _LONG_EXECUTIONS if runner.is_long else _BOUNDED.executions
    result = search(runner, strategy, judge, SearchLimits(executions, min(_BOUNDED.seconds, seconds)))
    if result.problem is not None and result.execution is not None:
        schedule = schedule_of(result.execution.trace, runner.granularity)
        smaller = _repeated(runner, judge, schedule)
        if smaller is None or _is_in_doubt(smaller.execution, original):
            return None
        return replace(smaller, is_minimal=True)
    return None if result.coverage is Coverage.BUDGET_SPENT else replace(original, is_minimal=True)


def _coarse(runner: Runner[A], judge: Judge[A], original: Counterexample[A], deadline: float) -> Counterexample[A]:
    """Remove many preemptions at once while the problem persists: first at the end, then in whole parts.

    A. Zeller, R. Hildebrandt: Simplifying and Isolating Failure-Inducing Input (2002). Parts of the schedule are
    reordered rather than left out.
    """
    best = original.schedule
    deadline = min(deadline, time.monotonic() + _GREEDY_SECONDS)

    def is_smaller(candidate: Schedule) -> bool:
        nonlocal best
        if len(candidate) >= len(best) or time.monotonic() > deadline:
            return False
        execution, problem, _ = replayed(runner, judge, candidate)
        performed = schedule_of(execution.trace, runner.granularity)
        if not _is_as_good(execution, problem, original) or len(performed) >= len(best):
            return False
        best = performed
        return True

    needed, length = 0, len(best)
    while length - needed > 1:
        half = (needed + length) // 2
        if is_smaller(original.schedule[:half]):
            length = half
        else:
            needed = half
    size = len(best) // 2
    while size > 1 and time.monotonic() < deadline:
        position = 0
        while position < len(best):
            end = position + size
            if not is_smaller((*best[:position], *_grouped(best[position:end]), *best[end:])):
                position = end
        size //= 2
    smaller = _repeated(runner, judge, best) if best is not original.schedule else None
    return smaller or original


def _is_as_good(execution: Execution[A], problem: Problem | None, original: Counterexample[A]) -> bool:
    """Whether an execution shows a problem of the same kind, and is not hurried unless ``original`` is."""
    is_same = problem is not None and problem.kind is original.problem.kind
    return is_same and not _is_in_doubt(execution, original)


def _is_in_doubt(execution: Execution[A], original: Counterexample[A]) -> bool:
    return bool(execution.hurry) and not original.execution.hurry


def _grouped(schedule: Schedule) -> Schedule:
    """Merge all runs of each actor into one, in the order of the first runs."""
    counts: dict[int, int] = {}
    for thread, count in schedule:
        counts[thread] = counts.get(thread, 0) + count
    return tuple(counts.items())


def _greedy(runner: Runner[A], judge: Judge[A], original: Counterexample[A], deadline: float) -> Counterexample[A]:
    """Merge runs of one actor, two at a time, while the problem persists."""
    best, remaining, position, progress = original, _GREEDY_EXECUTIONS, 0, False
    deadline = min(deadline, time.monotonic() + _GREEDY_SECONDS)
    while remaining > 0 and time.monotonic() < deadline:
        if position >= len(best.schedule) - 2:
            if not progress:
                break
            position, progress = 0, False
            continue
        remaining -= 1
        execution, problem, _ = replayed(runner, judge, _joined(best.schedule, position))
        if _is_as_good(execution, problem, best):
            schedule = schedule_of(execution.trace, runner.granularity)
            smaller = _repeated(runner, judge, schedule)
            if smaller is not None and len(smaller.schedule) < len(best.schedule):
                best, progress = smaller, True
                continue
        position += 1
    return best


def _joined(schedule: Schedule, position: int) -> Schedule:
    """Merge the run at ``position`` and the next run of the same actor; the runs between them come after."""
    thread, _ = schedule[position]
    steps = as_steps(schedule[:position])
    after = schedule[position + 1 :]
    following = next((index for index, (other, _) in enumerate(after) if other == thread), None)
    if following is None:
        return schedule
    steps += as_steps((schedule[position], after[following], *after[:following], *after[following + 1 :]))
    return as_runs(steps)


def _differs(runner: Runner[A], schedule: Schedule) -> Problem | None:
    """Run a schedule twice; return a NONDETERMINISM problem if the executions differ, else ``None``."""
    first, second = (_description(runner, runner.run(Replay(schedule))) for _ in range(2))
    for position, (one, other) in enumerate(zip(first[0], second[0], strict=False)):
        if one != other:
            what = f"step {position + 1} was {one} in one run and {other} in another"
            break
    else:
        if len(first[0]) != len(second[0]):
            what = f"one run had {len(first[0])} steps and another {len(second[0])}"
        elif first[1] != second[1]:
            what = f"the results of the threads were {first[1]} in one run and {second[1]} in another"
        else:
            return None
    return Problem(
        FindingKind.NONDETERMINISM,
        f"the same schedule does not do the same each time: {what}. The program cannot be explored",
    )


def _once(problem: Problem) -> Problem:
    what = f"{SHOWN_ONCE} ({problem.summary}), but not again"
    return Problem(FindingKind.NONDETERMINISM, f"the same schedule does not do the same each time: {what}")


def _description(runner: Runner[A], execution: Execution[A]) -> tuple[list[str], object]:
    steps = [
        f"a {KIND_NAMES[kind]} of {type(obj).__name__}{'' if slot is None else f'.{slot}'} by thread {thread + 1}"
        for thread, what, whole, part in execution.trace
        for kind, obj, slot in parts_of(what, whole, part)
    ]
    return steps, runner.outcome(execution)
