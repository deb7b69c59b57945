"""Investigation of one program: its interleavings are searched and audited, and a failure is reproduced."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from math import inf
from typing import Final, Generic, NamedTuple, TypeAlias

from kcache_model.errors import CannotExploreError
from kcache_model.finding import FindingKind

from ..engine.audit import audit, sampling_granularity
from ..engine.counterexample import Counterexample, counterexample, smallest
from ..engine.dpor import DivergedError, Dpor
from ..engine.execution import A, Judge, Problem
from ..engine.granularity import Granularity
from ..engine.happens_before import happens_before
from ..engine.schedule import Schedule, schedule_of
from ..engine.schedule_replay import Replay
from ..engine.search import SearchLimits, SearchResult, search
from ..engine.strategy import Coverage, Strategy
from ..modules.private_packages import can_be_instrumented
from ..modules.target_runner import TargetRunner
from ..modules.uncertainty import LATE
from ..runtime.threads.deadlines import SHORTEST
from ..runtime.threads.virtual_thread import UncontrolledError
from ..strategies.naive import Naive
from ..strategies.opcode_sampling import OpcodeSampling
from ..strategies.partial_order_sampling import PartialOrderSampling

_UNREDUCED_EXECUTIONS: Final = 1_000
_RUNTIME_PLACES: Final = {
    "lock": "locks",
    "RLock": "locks",
    "_Unknown": "code that is not instrumented",
    "ThreadHandle": "starts and ends of threads",
    "Scheduler": "the clock",
    "Clock": "the clock",
    "Cell": "variables of functions",
}
"""Class of the runtime -> what its objects are for the user."""
_LEAST_SHARE: Final = 0.2
"""A restarted search gets at least this share of the investigation's time, even if the time is spent."""
_MOST_BEGINNINGS: Final = 3
"""Maximum number of restarts of a search: for unexpected code, to restore modules, and to reload modules."""
_INHERITED: Final = "it fails only after other programs have changed its modules"
_UNSEEN: Final = (
    "calls depend on each other in code that the explorer cannot see (C, eval, another package), although they look "
    "independent; name the package with --instrument, or use --strategy naive and stress"
)
_UNSETTLED: Final = (
    "some orders of calls that the happens-before relation allows could not be judged, because the steps of this "
    "granularity are too long; use --granularity free"
)


class RunnerAndJudge(NamedTuple, Generic[A]):
    """The runner and the judge of one program.

    Attributes:
        runner: runs the threads of the program.
        judge: judges their executions.
    """

    runner: TargetRunner[A]
    judge: Judge[A]


OpenRunner: TypeAlias = AbstractContextManager[RunnerAndJudge[A]]
"""Context manager with the runner and the judge of a program; its exit cleans up."""

Wider: TypeAlias = Callable[[frozenset[str], Granularity], OpenRunner[A]]
"""Function that opens the runner of a program with further modules instrumented, at a granularity."""

Plan: TypeAlias = Callable[[RunnerAndJudge[A]], Sequence[tuple[Strategy, int]]]
"""Function that returns the strategies to try in turn, each with its maximum number of executions."""


@dataclass(frozen=True)
class ExplorationResult(Generic[A]):
    """Result of an investigation.

    Attributes:
        coverage: how much of the interleavings was covered.
        executions: how many executions the investigation took, including the audit.
        seconds: how long the investigation took.
        problem: the first problem that was found.
        counterexample: reproduces the problem; ``None`` if nothing is wrong, or no schedule can be repeated.
        note: why the search is no proof, although it could have been exhaustive: ``FILE:LINE: what``.
        granularity: the points at which threads were switched; an audit switches them at opcodes.
        audited: with how many executions at opcodes an exhaustive search was compared.
        refused: the line that did something the explorer cannot control; there the search ended. Empty otherwise.
        unseen: the unobserved code that ran in the counterexample; its locks may make the execution impossible.
        is_strict: whether the modules were loaded for unknown code, which may change everything that it reaches.
        needs_reload: whether the modules must be loaded in another way, because they did something unexpected.
        resets_each_time: whether modules are from now on restored before each execution: leftovers spoil proofs.
        is_long: whether executions take so long that only few can be run.
        assumes: what an exhaustive search takes for granted; see :attr:`~..engine.search.SearchResult.assumes`.
        contended: the places whose orders cost most executions, as text, if the search was cut short.
        has_diverged: whether an execution did not repeat what an earlier one did under the same schedule.
        unknown_modules: modules with code in Python that ran but is not instrumented; instrumented, it may be proved.
    """

    coverage: Coverage
    executions: int = 0
    seconds: float = 0.0
    problem: Problem | None = None
    counterexample: Counterexample[A] | None = None
    note: str = ""
    granularity: Granularity = Granularity.FREE
    audited: int = 0
    refused: str = ""
    unseen: str = ""
    is_strict: bool = False
    needs_reload: bool = False
    resets_each_time: bool = False
    is_long: bool = False
    assumes: str = ""
    contended: str = ""
    has_diverged: bool = False
    unknown_modules: frozenset[str] = frozenset()

    @property
    def schedule(self) -> Schedule:
        """The schedule of the counterexample: which thread runs for how many steps; empty if there is none."""
        return () if self.counterexample is None else self.counterexample.schedule

    @property
    def is_in_doubt(self) -> bool:
        """Whether time may be the cause: in the counterexample a wait ended while other threads could run."""
        return self.counterexample is not None and bool(self.counterexample.execution.hurry)

    @property
    def preemptions(self) -> int:
        """Number of preemptions in the counterexample; 0 if there is no counterexample."""
        return 0 if self.counterexample is None else self.counterexample.preemptions


def investigate(
    open_runner: Callable[[Granularity], OpenRunner[A]],
    plan: Plan[A],
    *,
    granularity: Granularity = Granularity.FREE,
    seconds: float = 10.0,
    samples: int = 0,
    seed: int = 0,
    wider: Wider[A] | None = None,
) -> ExplorationResult[A]:
    """Search the interleavings until one fails, none is left, or the budget is spent.

    If a wait ended early in the failing execution, the passing of time may be the cause, not the order of the threads.
    Then a second search runs in which waits end only if no thread can run. If the second search finds no failure, the
    result is the first failure, and stays in doubt.

    Args:
        open_runner: opens the runner and the judge at a granularity.
        plan: returns the strategies.
        granularity: the points at which threads may be switched.
        seconds: the most time of all strategies together; each may use its share of the remaining time. If a search
            meets unknown code late, it is restarted with the remaining time, but at least a fifth of ``seconds``.
        samples: with how many executions at opcodes an exhaustive search is compared; 0 for no audit.
        seed: the seed of the audit.
        wider: opens the same program with more modules instrumented. If only code of other modules prevents a proof, a
            search of this program may be one; it is audited like any other, and what fails there alone is ignored.
    """
    began = time.monotonic()
    outcomes: set[object] | None = set() if samples else None
    least, is_first = _LEAST_SHARE * seconds, True

    def remaining() -> float:
        return max(least, seconds - (time.monotonic() - began)) if seconds < inf else inf

    def searched(runner_and_judge: RunnerAndJudge[A]) -> SearchResult[A]:
        nonlocal is_first
        was_first, is_first = is_first, False
        return _search(runner_and_judge, plan(runner_and_judge), remaining(), outcomes, repeats=not was_first)

    result = _settled(open_runner, granularity, searched, seconds, outcomes)
    if result.is_in_doubt:
        least = max(least, result.seconds)
        again = _investigated(lambda at: _unhurried(open_runner(at)), granularity, searched, seconds)
        result = _after(result, again) if again.counterexample is not None else _after(again, result)
    if wider is not None and result.problem is None and result.coverage is Coverage.NO_PROOF:

        def proved(runner_and_judge: RunnerAndJudge[A]) -> SearchResult[A]:
            limit = max(limit for _, limit in plan(runner_and_judge))
            return _search(runner_and_judge, [(Dpor(), limit)], remaining(), outcomes)

        result = _proved_wider(wider, result, granularity, proved, seconds)
    if result.problem is not None or not result.coverage.is_complete or outcomes is None:
        return result
    lacking = ""

    def audited(runner_and_judge: RunnerAndJudge[A]) -> SearchResult[A]:
        nonlocal lacking
        search_result, lacking = audit(
            runner_and_judge.runner, runner_and_judge.judge, OpcodeSampling(seed), samples, known_outcomes=outcomes
        )
        return search_result

    sampled = _settled(open_runner, sampling_granularity(granularity), audited, seconds)
    is_late = LATE in sampled.unseen  # opcode tracing keeps the values of variables alive: no finding, and no proof
    if sampled.problem is not None and not is_late:
        return replace(_after(result, sampled), audited=sampled.executions)
    late = sampled.unseen if is_late else ""
    sampled = replace(sampled, problem=None, counterexample=None)
    note = "; ".join(filter(None, (sampled.refused, lacking, late, sampled.note, result.note)))
    coverage = Coverage.NO_PROOF if note else result.coverage
    both = _after(sampled, result)
    return replace(
        both,
        coverage=coverage,
        note=note,
        assumes=result.assumes,
        audited=sampled.executions,
        refused=sampled.refused,
    )


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


def _settled(
    open_runner: Callable[[Granularity], OpenRunner[A]],
    granularity: Granularity,
    searched: Callable[[RunnerAndJudge[A]], SearchResult[A]],
    seconds: float,
    outcomes: set[object] | None = None,
) -> ExplorationResult[A]:
    """Return the result of a search; if the modules must be loaded differently, clear ``outcomes`` and search again.

    It also searches again if an execution diverged: the first ones may have filled caches that the others use.
    """
    result = _investigated(open_runner, granularity, searched, seconds)
    may_diverge = True
    for _ in range(_MOST_BEGINNINGS):
        is_rehearsed = may_diverge and result.has_diverged
        if not (result.needs_reload or result.resets_each_time or is_rehearsed):
            break
        may_diverge = may_diverge and not result.has_diverged
        if outcomes:
            outcomes.clear()
        result = _after(result, _investigated(open_runner, granularity, searched, seconds))
    return result


def _proved_wider(
    wider: Wider[A],
    result: ExplorationResult[A],
    granularity: Granularity,
    searched: Callable[[RunnerAndJudge[A]], SearchResult[A]],
    seconds: float,
) -> ExplorationResult[A]:
    """Search once more with the modules instrumented whose code was unknown; return its result if that is a proof.

    Code that is found to run then may be of further modules. A failure there proves nothing: classes of instrumented
    modules are copies, which other packages do not take for the originals.
    """
    modules: frozenset[str] = frozenset()
    wide = result
    for _ in range(_MOST_BEGINNINGS):
        further = frozenset(filter(can_be_instrumented, wide.unknown_modules)) - modules
        if not further:
            break
        modules |= further
        try:
            wide = _settled(lambda at, of=modules: wider(of, at), granularity, searched, seconds)  # type: ignore[misc]
        except CannotExploreError:
            break
        if wide.problem is not None or wide.coverage is not Coverage.NO_PROOF:
            break
    is_proof = wide.problem is None and wide.coverage is Coverage.EXHAUSTED
    return _after(result, wide) if is_proof else _after(wide, result)


@contextlib.contextmanager
def _unhurried(open_runner: OpenRunner[A]) -> Iterator[RunnerAndJudge[A]]:
    """Open a runner and a judge for executions in which no wait ends while another thread can run."""
    with open_runner as runner_and_judge:
        scheduler = runner_and_judge.runner.sandbox.scheduler
        before = scheduler.longest, scheduler.tolerance
        scheduler.longest, scheduler.tolerance = 0.0, SHORTEST
        try:
            yield runner_and_judge
        finally:
            scheduler.longest, scheduler.tolerance = before


def _after(first: ExplorationResult[A], second: ExplorationResult[A]) -> ExplorationResult[A]:
    """Return the second result, with the executions and the seconds of both."""
    executions, seconds = first.executions + second.executions, first.seconds + second.seconds
    return replace(second, executions=executions, seconds=seconds)


def _search(
    runner_and_judge: RunnerAndJudge[A],
    plan: Sequence[tuple[Strategy, int]],
    seconds: float,
    outcomes: set[object] | None,
    *,
    repeats: bool = True,
) -> SearchResult[A]:
    """Search with each strategy in turn until one finds a problem or is exhaustive; add outcomes to ``outcomes``.

    If an execution diverges in a trial, the next strategy follows. Not if ``repeats`` is false: then the whole search
    is repeated, because the first executions may have been the cause.
    """
    runner, judge = runner_and_judge
    on_execution = None if outcomes is None else lambda run: outcomes.add(runner.outcome(run))
    result = SearchResult[A](Coverage.BUDGET_SPENT, 0, 0)
    executions, spent, note, limit = 0, 0.0, "", 0
    for number, (strategy, limit) in enumerate(plan):
        if any(strategy is earlier for earlier, _ in plan[:number]) and not strategy.has_more():
            continue
        remaining = seconds - spent
        if remaining <= 0 and executions and runner.is_long:
            break  # one more execution would take longer than a small budget
        most = remaining if strategy is plan[-1][0] else strategy.share * remaining
        limits = SearchLimits(limit, most, strategy.least)
        try:
            result = search(runner, strategy, judge, limits, on_execution=on_execution)
        except DivergedError:
            if not (strategy.is_trial and repeats):
                raise
            continue  # samples may still find a problem
        executions += result.executions
        spent += result.seconds
        if strategy.is_trial and result.coverage is Coverage.NO_PROOF:
            continue  # the trial cannot observe some code
        note = note or result.note
        if result.problem is not None or result.coverage.is_complete:
            break
        note = note or strategy.reason_incomplete
    if result.assumes:
        unhurried = _at_any_time(runner_and_judge, SearchLimits(limit, seconds - spent))
        executions += unhurried.executions
        spent += unhurried.seconds
        if unhurried.coverage is Coverage.EXHAUSTED:
            result = replace(unhurried, problem=None)
    if note and result.coverage is Coverage.EXHAUSTED:
        # A search that switches only at synchronisation points is a proof only if there are no data races.
        result = replace(result, coverage=Coverage.BUDGET_SPENT)
    return replace(result, executions=executions, seconds=spent, note=note)


def _at_any_time(runner_and_judge: RunnerAndJudge[A], limits: SearchLimits) -> SearchResult[A]:
    """Search once more, with waits that may end at any moment, however long they are.

    If nothing fails, it does not matter when the waits end, and the proof assumes nothing about them. A failure means
    nothing here, because a test may rely on a wait of five seconds being long enough.
    """
    runner, judge = runner_and_judge
    scheduler = runner.sandbox.scheduler
    scheduler.ends_any_time = True
    try:
        return search(runner, Dpor(), judge, limits)
    except DivergedError:
        return SearchResult(Coverage.BUDGET_SPENT, 0, 0)
    finally:
        scheduler.ends_any_time = False


def _investigated(
    open_runner: Callable[[Granularity], OpenRunner[A]],
    granularity: Granularity,
    searched: Callable[[RunnerAndJudge[A]], SearchResult[A]],
    seconds: float,
) -> ExplorationResult[A]:
    """Run a search, and return its result with a counterexample of the problem that it found."""
    result = ExplorationResult[A](Coverage.BUDGET_SPENT, granularity=granularity)
    with open_runner(granularity) as runner_and_judge:
        runner = runner_and_judge.runner
        try:
            search_result = searched(runner_and_judge)
            result = replace(
                result,
                coverage=search_result.coverage,
                executions=search_result.executions,
                seconds=search_result.seconds,
                note=search_result.note,
                assumes=search_result.assumes,
                contended=_places_text(search_result.contended),
            )
            if search_result.problem is None:
                if runner.reset.leftover and search_result.coverage.is_complete:
                    note = "; ".join(filter(None, (runner.reset.leftover, search_result.note)))
                    result = replace(result, coverage=Coverage.NO_PROOF, note=note)
            elif (
                runner.reset.leftover or runner.reset.inherits
            ) and search_result.problem.kind is not FindingKind.LIVELOCK:
                result = _in_new_modules(runner_and_judge, result, search_result, seconds)
            else:
                result = _with_counterexample(runner_and_judge, result, search_result, seconds)
        except DivergedError as error:
            why = "; ".join(filter(None, (str(error), runner.reset.leftover)))
            summary = f"the same schedule does not do the same each time: {why}. The program cannot be explored"
            result = replace(result, has_diverged=True, problem=Problem(FindingKind.NONDETERMINISM, summary))
        except UncontrolledError as error:
            result = replace(result, coverage=Coverage.BUDGET_SPENT, refused=str(error))
        is_passed = result.problem is None or result.has_diverged
        resets_each_time = bool(runner.reset.leftover) and is_passed and runner.reset.reset_each_time()
        is_strict, needs_reload = runner.sandbox.is_strict, runner.reset.needs_reload
        result = replace(result, is_strict=is_strict, needs_reload=needs_reload, resets_each_time=resets_each_time)
        unknown_modules = frozenset(runner.sandbox.foreign_code.unknown_modules)
        return replace(result, is_long=runner.is_long, unknown_modules=unknown_modules)


def _places_text(places: Sequence[tuple[type, object]]) -> str:
    texts = (_RUNTIME_PLACES.get(kind.__name__) or _place_text(kind.__name__, slot) for kind, slot in places)
    return ", ".join(dict.fromkeys(texts))


def _place_text(kind: str, slot: object) -> str:
    return f"a {kind}" if slot is None else f"{kind}.{slot}"


def _with_counterexample(
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


def _in_new_modules(
    runner_and_judge: RunnerAndJudge[A], result: ExplorationResult[A], search_result: SearchResult[A], seconds: float
) -> ExplorationResult[A]:
    """Reproduce the problem in reloaded modules, then do the same as :func:`_with_counterexample`.

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
    if repeated is None or repeated.kind is not problem.kind:
        return replace(result, coverage=Coverage.NO_PROOF, note=f"{leftover or _INHERITED}: {problem.summary}")
    if not leftover:
        search_result = replace(search_result, problem=repeated, execution=again, order=order)
        return _with_counterexample(runner_and_judge, result, search_result, seconds)
    unseen = runner.sandbox.unseen(again.trace, again.hurry)
    counterexample_in_new_modules = Counterexample(schedule, repeated, again, again.preemptions)
    return replace(result, problem=repeated, counterexample=counterexample_in_new_modules, unseen=unseen)
