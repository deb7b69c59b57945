"""Investigation of one program: its interleavings are searched and audited, and a failure is reproduced."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import Final

from kcache_model.audited import NOT_AUDITED, Audited
from kcache_model.errors import CannotExploreError
from kcache_model.finding import FindingKind

from ..engine.audit import NO_AUDIT, AuditBudget, audit, sampling_granularity
from ..engine.dpor import DivergedError, Dpor
from ..engine.execution import A, Problem
from ..engine.granularity import Granularity
from ..engine.search import SearchLimits, SearchResult, search
from ..engine.strategy import Coverage, Strategy
from ..modules.private_packages import can_be_instrumented
from ..modules.uncertainty import LATE
from ..runtime.threads.deadlines import SHORTEST
from ..runtime.threads.virtual_thread import UncontrolledError
from ..strategies.opcode_sampling import OpcodeSampling
from ..strategies.place_coverage import PlaceCoverage
from .exploration_result import ExplorationResult, OpenRunner, Plan, RunnerAndJudge, Wider, places_text
from .observing import gap_in_reports, proved_by_observation
from .reproducing import in_new_modules, with_counterexample

_LEAST_SHARE: Final = 0.2
"""A restarted search gets at least this share of the investigation's time, even if the time is spent."""
_AUDIT_SECONDS: Final = 120.0
"""Most seconds of each part of an audit. Unless the audited code is very slow, the audit ends long before."""
_MOST_OBSERVED: Final = 2_000
"""Most executions of a search that is repeated with an observer: it makes an execution some twenty times slower."""
_MOST_BEGINNINGS: Final = 3
"""Maximum number of restarts of a search: for unexpected code, to restore modules, and to reload modules."""


def investigate(
    open_runner: Callable[[Granularity], OpenRunner[A]],
    plan: Plan[A],
    *,
    granularity: Granularity = Granularity.FREE,
    seconds: float = 10.0,
    budget: AuditBudget = NO_AUDIT,
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
        budget: budget of the audit of an exhaustive search.
        seed: the seed of the audit.
        wider: opens the same program with more modules instrumented. If only code of other modules prevents a proof, a
            search of this program may be one; it is audited like any other, and what fails there alone is ignored.
    """
    began = time.monotonic()
    outcomes: set[object] | None = None if budget is NO_AUDIT else set()
    least, is_first = _LEAST_SHARE * seconds, True

    def remaining() -> float:
        return max(least, seconds - (time.monotonic() - began)) if seconds < inf else inf

    def searched(runner_and_judge: RunnerAndJudge[A]) -> SearchResult[A]:
        nonlocal is_first
        was_first, is_first = is_first, False
        return _search(
            runner_and_judge, plan(runner_and_judge), remaining(), outcomes, budget.observed, repeats=not was_first
        )

    result = _settled(open_runner, granularity, searched, seconds, outcomes)
    if result.is_in_doubt:
        least = max(least, result.seconds)
        again = _investigated(lambda at: _unhurried(open_runner(at)), granularity, searched, seconds)
        result = _after(result, again) if again.counterexample is not None else _after(again, result)
    if wider is not None and result.problem is None and result.coverage is Coverage.NO_PROOF:

        def proved(runner_and_judge: RunnerAndJudge[A]) -> SearchResult[A]:
            limit = max(limit for _, limit in plan(runner_and_judge))
            return _search(runner_and_judge, [(Dpor(), limit)], remaining(), outcomes, budget.observed)

        result = _proved_wider(wider, result, granularity, proved, seconds)
    if result.problem is not None or not result.coverage.is_complete or outcomes is None:
        return result

    def strategies() -> tuple[PlaceCoverage, Strategy]:
        places = PlaceCoverage(None if budget.is_required else random.Random(seed))
        return places, OpcodeSampling(seed, tries_places=False)

    return _audited(open_runner, granularity, result, budget, strategies, outcomes, seconds)


def _audited(
    open_runner: Callable[[Granularity], OpenRunner[A]],
    granularity: Granularity,
    result: ExplorationResult[A],
    budget: AuditBudget,
    strategies: Callable[[], tuple[PlaceCoverage, Strategy]],
    outcomes: set[object],
    seconds: float,
) -> ExplorationResult[A]:
    """Audit an exhaustive search; return its result, with the finding of the audit or with the reason for no proof."""
    lacking, extent = "", NOT_AUDITED

    def searched(runner_and_judge: RunnerAndJudge[A]) -> SearchResult[A]:
        nonlocal lacking, extent
        runner, judge = runner_and_judge
        places, draws = strategies()
        plan = (
            (places, SearchLimits(budget.executions, _AUDIT_SECONDS, events=budget.events)),
            (draws, SearchLimits(budget.draws, _AUDIT_SECONDS)),
        )
        search_result, lacking = audit(runner, judge, plan, known_outcomes=outcomes)
        extent = Audited(search_result.executions, places.covered, places.places)
        return search_result

    sampled = _settled(open_runner, sampling_granularity(granularity), searched, seconds, is_audit=True)
    extent = replace(extent, executions=sampled.executions)
    is_late = LATE in sampled.unseen  # opcode tracing keeps the values of variables alive: no finding, and no proof
    if sampled.problem is not None and not is_late:
        return replace(_after(result, sampled), audited=extent)
    late = sampled.unseen if is_late else ""
    short = f"{extent} audited" if budget.is_required and extent.covered < extent.places else ""
    sampled = replace(sampled, problem=None, counterexample=None)
    note = "; ".join(filter(None, (sampled.refused, lacking, late, sampled.note, result.note, short)))
    return replace(
        _after(sampled, result),
        coverage=Coverage.NO_PROOF if note else result.coverage,
        note=note,
        assumes=result.assumes,
        audited=extent,
        refused=sampled.refused,
    )


def _settled(
    open_runner: Callable[[Granularity], OpenRunner[A]],
    granularity: Granularity,
    searched: Callable[[RunnerAndJudge[A]], SearchResult[A]],
    seconds: float,
    outcomes: set[object] | None = None,
    *,
    is_audit: bool = False,
) -> ExplorationResult[A]:
    """Return the result of a search; if the modules must be loaded differently, clear ``outcomes`` and search again.

    It also searches again if an execution diverged: the first ones may have filled caches that the others use.
    """
    result = _investigated(open_runner, granularity, searched, seconds, is_audit=is_audit)
    may_diverge = True
    for _ in range(_MOST_BEGINNINGS):
        is_rehearsed = may_diverge and result.has_diverged
        if not (result.needs_reload or result.resets_each_time or is_rehearsed):
            break
        may_diverge = may_diverge and not result.has_diverged
        if outcomes:
            outcomes.clear()
        again = _investigated(open_runner, granularity, searched, seconds, is_audit=is_audit)
        result = _after(result, again)
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
    observed: float,
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
    without_proof: SearchResult[A] | None = None
    diverged: Strategy | None = None
    for number, (planned, limit) in enumerate(plan):
        strategy = Dpor() if planned is diverged else planned
        if any(strategy is earlier for earlier, _ in plan[:number]) and not strategy.has_more():
            if strategy.is_trial and without_proof is not None:
                result, note = without_proof, note or without_proof.note
            continue
        remaining = seconds - spent
        if remaining <= 0 and executions and runner.is_long:
            break  # one more execution would take longer than a small budget
        most = remaining if number == len(plan) - 1 else strategy.share * remaining
        limits = SearchLimits(limit, most, strategy.least)
        try:
            result = search(runner, strategy, judge, limits, on_execution=on_execution)
        except DivergedError:
            if not (strategy.is_trial and repeats):
                raise
            diverged = strategy
            continue  # samples may still find a problem
        executions += result.executions
        spent += result.seconds
        if strategy.is_trial and result.coverage is Coverage.NO_PROOF:
            without_proof = result
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
    if outcomes is not None and result.problem is None and result.coverage is Coverage.EXHAUSTED and not note:
        gap = gap_in_reports(runner, observed)
        result = replace(result, coverage=Coverage.NO_PROOF) if gap else result
        note = gap
    elif on_execution is not None and result.problem is None and result.coverage is Coverage.NO_PROOF:
        proof = None
        if runner.sandbox.foreign_code.has_seen_doubts and result.executions <= _MOST_OBSERVED:
            proof = proved_by_observation(runner_and_judge, SearchLimits(limit, seconds - spent), on_execution)
        if proof is not None:
            executions, spent, note, result = executions + proof.executions, spent + proof.seconds, "", proof
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
    *,
    is_audit: bool = False,
) -> ExplorationResult[A]:
    """Run a search, and return its result with a counterexample of the problem that it found.

    The search has passed before an audit begins. So what an audit finds may be due to values that the executions have
    left behind, even where none is seen: it must also occur in new modules.
    """
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
                contended=places_text(search_result.contended),
            )
            if search_result.problem is None:
                if runner.reset.leftover and search_result.coverage.is_complete:
                    note = "; ".join(filter(None, (runner.reset.leftover, search_result.note)))
                    result = replace(result, coverage=Coverage.NO_PROOF, note=note)
            elif (
                is_audit or runner.reset.leftover or runner.reset.inherits
            ) and search_result.problem.kind is not FindingKind.LIVELOCK:
                if not runner.reset.needs_reload:  # new modules report more events: the schedule would not fit them
                    result = in_new_modules(runner_and_judge, result, search_result, seconds)
            else:
                result = with_counterexample(runner_and_judge, result, search_result, seconds)
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
