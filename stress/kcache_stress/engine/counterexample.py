"""Counterexample of a problem: the fewest preemptions, done again to be sure, and classified.

A search finds a problem in some schedule, or in one that is equivalent to it. Here it is realised, repeated, and made
smaller: a search bounded by preemptions finds the smallest there is, if it gets that far.
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
"""Begins what is said of a problem that the same schedule does not show again."""

_REPETITIONS = 2
# Counted, so that the same is found on a slow machine; the time is for executions that are slow themselves.
_BOUNDED = SearchLimits(executions=2_000, seconds=10.0)
_LONG_EXECUTIONS = 5
"""The same of executions that are long: a bounded search of these gets nowhere."""
_FEW = 5
"""Preemptions: with more, a search bounded by them has too many schedules to come to its end."""
_MANY = 30
"""Preemptions: to do without them one by one would take too long. What is left then is easier to read, though."""

_GREEDY_EXECUTIONS = 300
_GREEDY_SECONDS = 5.0


class Possible(enum.StrEnum):
    """Which interpreters can run into a counterexample."""

    WITH_GIL = "possible under the GIL"
    FREE_THREADED = "this program needs free-threaded Python"
    PAUSED = "free-threaded Python can switch there at any time, CPython with a GIL only if something pauses the thread"
    """Real threads with a GIL run into it where something pauses them, such as a tracer or a call added there."""
    UNKNOWN = "not known whether it is possible under the GIL"


@dataclass(frozen=True)
class Counterexample(Generic[A]):
    """A schedule that shows a problem each time.

    Attributes:
        schedule: who runs for how many steps.
        problem: what is wrong.
        execution: one execution of the schedule.
        preemptions: how often a thread is left that could have gone on.
        is_minimal: whether no schedule with fewer preemptions shows a problem.
    """

    schedule: Schedule
    problem: Problem
    execution: Execution[A]
    preemptions: int
    is_minimal: bool = False


def counterexample(runner: Runner[A], judge: Judge[A], result: SearchResult[A]) -> Counterexample[A] | Problem | None:
    """What was found, realised and repeated.

    A problem of kind NONDETERMINISM if the same schedule does not do the same each time. ``None`` if it does, without
    a problem: then the calls depend on each other in code that is not instrumented, and the order of the calls in which
    the problem was seen is one that cannot be. Nobody is accused of that.
    """
    execution, problem = result.execution, result.problem
    assert execution is not None
    assert problem is not None
    if problem.kind is FindingKind.LIVELOCK:
        return problem
    schedule = realised(execution, problem, result.order, runner.granularity)
    found = _repeated(runner, judge, schedule)
    if found is None:
        is_real = result.order is None or not problem.order
        return _differs(runner, schedule) or (_once(problem) if is_real else None)
    return found


def realised(
    execution: Execution[A], problem: Problem, order: HappensBefore | None, granularity: Granularity
) -> Schedule:
    """The schedule that shows a problem: of the execution, or of an equivalent one in which the calls overlap so."""
    if order is not None and problem.order and granularity is Granularity.FREE:
        return as_runs(realising_threads(execution, order, problem.order))
    return schedule_of(execution.trace, granularity)


def smallest(runner: Runner[A], judge: Judge[A], found: Counterexample[A], seconds: float = inf) -> Counterexample[A]:
    """The counterexample with the fewest preemptions that the budget allows to find, which has so many seconds left."""
    deadline = time.monotonic() + seconds
    if found.preemptions > _FEW:
        half = time.monotonic() + seconds / 2
        if found.preemptions > _MANY:
            found = _coarse(runner, judge, found, time.monotonic() + seconds / 4)
        found = _greedy(runner, judge, found, half)
        return _bounded(runner, judge, found, max(deadline - time.monotonic(), 0.0)) or found
    return _bounded(runner, judge, found, seconds / 2) or _greedy(runner, judge, found, deadline)


def replayed(runner: Runner[A], judge: Judge[A], schedule: Schedule) -> tuple[Execution[A], Problem | None, bool]:
    """Run one schedule: what happened, what is wrong with it, and whether the schedule could be followed.

    What goes wrong in a hurried execution is run twice more, and threads do not learn of the time that passes while
    they, or others, can go on. If it goes wrong then, too, the execution does not count as hurried.
    """
    strategy = Replay(schedule)
    execution = runner.run(strategy)
    problem = judge.judge(execution)
    if problem is not None and execution.hurry and _goes_wrong_unhurried(runner, judge, schedule, problem):
        execution.hurry = ""
    return execution, problem, strategy.followed


def _goes_wrong_unhurried(runner: Runner[A], judge: Judge[A], schedule: Schedule, problem: Problem) -> bool:
    try:
        for hidden in (HiddenTime.OWN, HiddenTime.ALL):
            runner.hide_time(hidden)
            shown = judge.judge(runner.run(Replay(schedule)))
            if shown is None or shown.kind is not problem.kind:
                return False
    finally:
        runner.hide_time(HiddenTime.NOTHING)
    return True


def _repeated(runner: Runner[A], judge: Judge[A], schedule: Schedule) -> Counterexample[A] | None:
    """The counterexample, if each of several runs of the schedule shows the same problem."""
    seen = [replayed(runner, judge, schedule) for _ in range(_REPETITIONS)]
    first, problem, _ = seen[0]
    if problem is None or any(other is None or other.kind is not problem.kind for _, other, _ in seen):
        return None
    return Counterexample(schedule, problem, first, first.preemptions)


def _bounded(runner: Runner[A], judge: Judge[A], found: Counterexample[A], seconds: float) -> Counterexample[A] | None:
    """The smallest one, or the one at hand if it is; ``None`` if the search did not get that far."""
    if found.preemptions == 0:
        return replace(found, is_minimal=True)
    strategy = PreemptionBounded(found.preemptions - 1)
    executions = _LONG_EXECUTIONS if runner.is_long else _BOUNDED.executions
    result = search(runner, strategy, judge, SearchLimits(executions, min(_BOUNDED.seconds, seconds)))
    if result.problem is not None and result.execution is not None:
        schedule = schedule_of(result.execution.trace, runner.granularity)
        smaller = _repeated(runner, judge, schedule)
        if smaller is None or _is_in_doubt(smaller.execution, found):
            return None
        return replace(smaller, is_minimal=True)
    return None if result.coverage is Coverage.BUDGET_SPENT else replace(found, is_minimal=True)


def _coarse(runner: Runner[A], judge: Judge[A], found: Counterexample[A], deadline: float) -> Counterexample[A]:
    """Do without many preemptions at once, as long as the problem stays: those at the end, then those of whole parts.

    A. Zeller, R. Hildebrandt: Simplifying and Isolating Failure-Inducing Input (2002), with another order in place of
    the parts that are left out.
    """
    best = found.schedule
    deadline = min(deadline, time.monotonic() + _GREEDY_SECONDS)

    def is_smaller(candidate: Schedule) -> bool:
        nonlocal best
        if len(candidate) >= len(best) or time.monotonic() > deadline:
            return False
        execution, problem, _ = replayed(runner, judge, candidate)
        shown = schedule_of(execution.trace, runner.granularity)
        if not _is_as_good(execution, problem, found) or len(shown) >= len(best):
            return False
        best = shown
        return True

    needed, length = 0, len(best)
    while length - needed > 1:
        half = (needed + length) // 2
        if is_smaller(found.schedule[:half]):
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
    smaller = _repeated(runner, judge, best) if best is not found.schedule else None
    return smaller or found


def _is_as_good(execution: Execution[A], problem: Problem | None, found: Counterexample[A]) -> bool:
    """Whether an execution shows a problem of the same kind, and leaves no more in doubt."""
    is_same = problem is not None and problem.kind is found.problem.kind
    return is_same and not _is_in_doubt(execution, found)


def _is_in_doubt(execution: Execution[A], found: Counterexample[A]) -> bool:
    return bool(execution.hurry) and not found.execution.hurry


def _grouped(schedule: Schedule) -> Schedule:
    """All runs of each thread as one, in the order of the first ones."""
    counts: dict[int, int] = {}
    for thread, count in schedule:
        counts[thread] = counts.get(thread, 0) + count
    return tuple(counts.items())


def _greedy(runner: Runner[A], judge: Judge[A], found: Counterexample[A], deadline: float) -> Counterexample[A]:
    """Put runs of one thread together, as long as the problem stays."""
    best, left, position, progress = found, _GREEDY_EXECUTIONS, 0, False
    deadline = min(deadline, time.monotonic() + _GREEDY_SECONDS)
    while left > 0 and time.monotonic() < deadline:
        if position >= len(best.schedule) - 2:
            if not progress:
                break
            position, progress = 0, False
            continue
        left -= 1
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
    """The run at ``position`` and the next one of the same thread as one, before what lies between."""
    thread, _ = schedule[position]
    steps = as_steps(schedule[:position])
    after = schedule[position + 1 :]
    following = next((index for index, (other, _) in enumerate(after) if other == thread), None)
    if following is None:
        return schedule
    steps += as_steps((schedule[position], after[following], *after[:following], *after[following + 1 :]))
    return as_runs(steps)


def _differs(runner: Runner[A], schedule: Schedule) -> Problem | None:
    """What is different between two runs of one schedule; ``None`` if nothing is."""
    first, second = (_told(runner, runner.run(Replay(schedule))) for _ in range(2))
    for position, (one, other) in enumerate(zip(first[0], second[0], strict=False)):
        if one != other:
            what = f"step {position + 1} was {one} in one run and {other} in another"
            break
    else:
        if len(first[0]) != len(second[0]):
            what = f"one run had {len(first[0])} steps and another {len(second[0])}"
        elif first[1] != second[1]:
            what = f"the threads gave {first[1]} in one run and {second[1]} in another"
        else:
            return None
    return Problem(
        FindingKind.NONDETERMINISM, f"the same schedule does not do the same each time: {what}; it cannot be explored"
    )


def _once(problem: Problem) -> Problem:
    what = f"{SHOWN_ONCE} ({problem.summary}), but not again"
    return Problem(FindingKind.NONDETERMINISM, f"the same schedule does not do the same each time: {what}")


def _told(runner: Runner[A], execution: Execution[A]) -> tuple[list[str], object]:
    steps = [
        f"a {KIND_NAMES[kind]} of {type(obj).__name__}{'' if slot is None else f'.{slot}'} by thread {thread + 1}"
        for thread, what, whole, part in execution.trace
        for kind, obj, slot in parts_of(what, whole, part)
    ]
    return steps, runner.outcome(execution)
