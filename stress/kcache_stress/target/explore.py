"""Exploration of one program: samples first, then an exhaustive search; a failure becomes a finding."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Final, Generic

from kcache_model.audited import NOT_AUDITED, Audited
from kcache_model.errors import CannotExploreError
from kcache_model.finding import Finding, FindingKind
from kcache_model.progress import NoProgress, ProgressListener

from ..engine.audit import NO_AUDIT, AuditBudget
from ..engine.counterexample import Counterexample, Possible
from ..engine.dpor import Dpor
from ..engine.execution import A, Problem
from ..engine.granularity import Granularity
from ..engine.recorded_search import RecordedDpor
from ..engine.strategy import Coverage, Strategy
from ..judgement.call_judge import CallJudge
from ..judgement.data_races import DataRaceJudge
from ..runtime.threads.virtual_thread import UncontrolledError
from ..strategies.guided import Guided
from ..strategies.opcode_sampling import OpcodeSampling
from ..strategies.partial_order_sampling import PartialOrderSampling
from ..strategies.pct import Pct
from ..strategies.registry import AUTO, strategy_named
from ..strategies.selective_walk import SelectiveWalk
from ..strategies.single_preemption import SinglePreemption
from ..strategies.time_slices import TimeSlices
from .confirmation import Answer, Confirmation, with_confirmation
from .excluded_faults import ExcludedFaults, ExcludingJudge
from .exploration_result import ExplorationResult, OpenRunner, RunnerAndJudge
from .exploration_target import ExplorationTarget, P
from .investigation import investigate
from .reproducing import with_fewest_preemptions

_MINIMISE_ATTEMPTS: Final = 150
_POSSIBLE_EXECUTIONS: Final = 3_000
_POSSIBLE_SECONDS: Final = 5.0
_LEAST_POSSIBLE_SECONDS: Final = 1.0
"""The search whether a finding is possible under the GIL gets at least this time, even if the budget is spent."""

_SHALLOW_SAMPLES: Final = 6
_SHALLOW_EXECUTIONS: Final = 30
_DEEP_EVERY: Final = 5

_NOT_TRIED: Final = Confirmation(Answer.NOT_TRIED)
_ENDED: Final = Confirmation(Answer.NOT_TRIED, "not tried with real threads to the end: the process ended or froze")

_SLICED_EXECUTIONS: Final = 40
"""The most executions in time slices, if executions are long: a bug that they all miss needs a rarer schedule."""
_FIRST_SINGLE_EXECUTIONS: Final = 3
"""Executions with one preemption before time slices: findings of time slices take long to minimise and to read."""
_DENSE_EXECUTIONS: Final = 2
"""Executions with a choice at each event, if executions are long: many threads in a small window conflict in the
first such execution or never."""
_SINGLE_EXECUTIONS: Final = 1_000
"""The most executions with one preemption before samples are taken."""

_TRIAL_EXECUTIONS: Final = 100
"""Most tests with a lock have fewer interleavings than this; sampling them first takes hundreds of executions."""
_TRIAL_SHARE: Final = 0.35
"""Share of the time for the trial executions. If they do not suffice, most of the time is left for samples."""

_LOOP_SHARE: Final = 0.7
"""Share of the time for the search of a test with an event loop, before samples show what lies deep."""
_MOST_WALKS: Final = 10
"""The most guided samples, as a multiple of ``walk``, even if they still show new behaviour."""


@dataclass(frozen=True)
class ExploreOptions:
    """Options of an exploration.

    Attributes:
        strategy: the search of the interleavings: a name that :func:`~..strategies.registry.strategy_named` takes.
        granularity: the points at which threads may be switched.
        samples: how many samples ``auto`` takes first.
        walk: ``auto`` goes on to the exhaustive search after this many guided samples in a row that show nothing new; 0
            for no guided samples. Guided samples are for tests, which may be large.
        executions: the most executions of one program.
        seconds: the most time for one program.
        preemptions: the highest bound of ``bounded``.
        depth: the bug depth of ``pct``.
        seed: the seed of all random choices.
        strict_errors: require kcache's error types.
        whole_seconds: the most time for the search and for minimising the failing program and its schedule.
        minimise_seconds: the most time for minimising a failing program.
        confirm_until: the moment on ``time.monotonic`` after which real threads run only a few times to confirm it.
        candidates: how smaller programs are explored; by default by ``auto`` with few executions.
        data_races: if nothing else is wrong, search for data races in a second search.
        widens: if only code that is not instrumented prevents a proof, instrument it and search once more.
        records: record the choice tree of an exhaustive search, for :attr:`Explored.tree`.
    """

    strategy: str = AUTO
    granularity: Granularity = Granularity.FREE
    samples: int = 20
    walk: int = 0
    executions: int = 20_000
    seconds: float = 10.0
    preemptions: int = 2
    depth: int = 3
    seed: int = 0
    strict_errors: bool = False
    whole_seconds: float = 86_400.0
    minimise_seconds: float = 5.0
    confirm_until: float = inf
    candidates: ExploreOptions | None = None
    data_races: bool = False
    widens: bool = False
    records: bool = False


@dataclass(frozen=True)
class Explored:
    """Result of exploring one program.

    Attributes:
        coverage: how much of its interleavings was covered.
        executions: how many executions the exploration took.
        finding: the failure; ``None`` if nothing failed.
        note: why the search is no proof, if the strategy knows a reason.
        audited: extent of the audits of exhaustive searches.
        refused: the line that did something the explorer cannot control; there the search ended. Empty otherwise.
        excluded: how many executions showed only known faults, and counted as passed.
        calls: (operation, ``"ok"`` or the kind of error) -> number of calls with that outcome; empty for targets whose
            single calls are not judged.
        contended: the places whose orders cost most executions, if the search was cut short.
        assumes: what a proof takes for granted about waits with a timeout; empty if it does not depend on them.
        tree: the choice tree of the proof (:mod:`~..engine.recorded_search`); ``None`` if it was not recorded.
    """

    coverage: Coverage
    executions: int
    finding: Finding | None = None
    note: str = ""
    audited: Audited = NOT_AUDITED
    refused: str = ""
    excluded: int = 0
    calls: Mapping[tuple[str, str], int] = field(default_factory=dict)
    assumes: str = ""
    contended: str = ""
    tree: Mapping[str, Any] | None = None

    @property
    def no_proof(self) -> str:
        """Reason why a finished search is no proof: ``FILE:LINE: what``; empty if the coverage is not NO_PROOF."""
        return self.note if self.coverage is Coverage.NO_PROOF else ""

    @property
    def is_exhausted(self) -> bool:
        """Whether all interleavings were covered, and none has a known fault or a finding other than a data race."""
        finding = self.finding
        return (
            self.coverage is Coverage.EXHAUSTED
            and not self.excluded
            and (finding is None or finding.kind is FindingKind.DATA_RACE)
        )


def hunting(options: ExploreOptions, number: int) -> ExploreOptions:
    """Return the options for one of many random programs, chosen so that faults are found soon.

    The first few executions of many programs show more faults than many executions of few programs. Therefore only
    every fifth program is explored with all executions of ``options``.
    """
    if number % _DEEP_EVERY == _DEEP_EVERY - 1:
        return options
    executions = min(options.executions, _SHALLOW_EXECUTIONS)
    return replace(options, samples=min(options.samples, _SHALLOW_SAMPLES), executions=executions)


def explore(
    exploration_target: ExplorationTarget[P, A],
    program: P,
    options: ExploreOptions,
    watch: ProgressListener | None = None,
    on_finding: Callable[[Finding], None] = lambda _: None,
    excluded: ExcludedFaults | None = None,
) -> Explored:
    """Search the interleavings of ``program``, and explain the first one that fails.

    Args:
        exploration_target: the target, ready to be explored at the granularity of ``options``.
        program: the calls of the threads.
        options: how to search.
        watch: the listener that is notified of the program and of each execution.
        on_finding: called with a finding before it is minimised, because that may take long or end the process.
        excluded: known faults, which do not end the search.
    """
    return _Exploration(
        exploration_target, options, watch or NoProgress(), on_finding, excluded or ExcludedFaults()
    ).run(program)


@contextlib.contextmanager
def seeking_data_races(
    open_runner: OpenRunner[A], is_known: Callable[[Problem], bool] = lambda _: False
) -> Iterator[RunnerAndJudge[A]]:
    """Open a runner and a judge that reports a data race if nothing else is wrong with an execution."""
    with open_runner as (runner, judge):
        yield RunnerAndJudge(runner, DataRaceJudge(judge, runner, is_known))


@contextlib.contextmanager
def _excluding(open_runner: OpenRunner[A], excluded: ExcludedFaults) -> Iterator[RunnerAndJudge[A]]:
    """Open a runner and a judge that does not report known faults."""
    with open_runner as (runner, judge):
        yield RunnerAndJudge(runner, ExcludingJudge(judge, runner, excluded))


@contextlib.contextmanager
def _counting_calls(open_runner: OpenRunner[A], calls: Counter[tuple[str, str]]) -> Iterator[RunnerAndJudge[A]]:
    """Open a runner and a judge; on exit, add the calls that were judged to ``calls``."""
    with open_runner as runner_and_judge:
        try:
            yield runner_and_judge
        finally:
            if isinstance(runner_and_judge.judge, CallJudge):
                calls.update(runner_and_judge.judge.calls)


@dataclass(frozen=True)
class _Exploration(Generic[P, A]):
    exploration_target: ExplorationTarget[P, A]
    options: ExploreOptions
    watch: ProgressListener
    on_finding: Callable[[Finding], None]
    excluded: ExcludedFaults
    seeks_data_races: bool = False
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    recorded: list[RecordedDpor] = field(default_factory=list)

    def run(self, program: P) -> Explored:
        return replace(self._run(program), calls=self.calls)

    def _run(self, program: P) -> Explored:
        explored = self._explored(program)
        if self.options.data_races and explored.finding is None and not explored.refused:
            again = replace(self, seeks_data_races=True)._explored(program)
            explored = replace(explored, executions=explored.executions + again.executions, finding=again.finding)
        return replace(explored, excluded=self.excluded.counts.total())

    def _explored(self, program: P) -> Explored:
        share = self.exploration_target.share
        until = time.monotonic() + self.options.whole_seconds
        proves = not (self.seeks_data_races or self.excluded.findings or self.excluded.kinds)
        budget = share.due(self.options.seconds) if proves else NO_AUDIT
        try:
            result = self._investigated(program, self.options, self.exploration_target.granularity, budget)
            if proves and result.coverage is Coverage.EXHAUSTED and self.exploration_target.share != share:
                share = self.exploration_target.share  # threads ran beside a loop, but not in the first execution
                budget = share.due(self.options.seconds)
                result = self._investigated(program, self.options, self.exploration_target.granularity, budget)
            finding = None if result.problem is None else self._finding(program, result, until)
        except (UncontrolledError, CannotExploreError) as error:  # while a finding is described; while loading
            return Explored(Coverage.BUDGET_SPENT, 1, note=str(error), refused=str(error))
        finally:
            self.watch.rest()
        if result.problem is None and result.coverage.is_complete:
            share.spend(result.executions - result.audited.executions, is_audited=bool(result.audited))
        coverage = result.coverage if finding is None else Coverage.BUDGET_SPENT
        note = result.note or result.refused
        assumed = filter(None, (result.assumes, self.exploration_target.assumes(program)))
        assumes = " and ".join(assumed) if coverage is Coverage.EXHAUSTED else ""
        contended = result.contended if coverage is Coverage.BUDGET_SPENT and finding is None else ""
        return Explored(
            coverage,
            result.executions,
            finding,
            note,
            result.audited,
            result.refused,
            assumes=assumes,
            contended=contended,
            tree=self._tree() if coverage is Coverage.EXHAUSTED else None,
        )

    def _investigated(
        self, program: P, options: ExploreOptions, granularity: Granularity, budget: AuditBudget = NO_AUDIT
    ) -> ExplorationResult[A]:
        self.exploration_target.announce(program, self.watch)
        return investigate(
            lambda at: self._opened(program, at),
            lambda runner_and_judge: self._plan(options, runner_and_judge),
            granularity=granularity,
            seconds=options.seconds,
            budget=budget,
            seed=options.seed,
            wider=(lambda modules, at: self._opened(program, at, modules)) if options.widens else None,
        )

    def _plan(self, options: ExploreOptions, opened: RunnerAndJudge[A]) -> Sequence[tuple[Strategy, int]]:
        if not options.records or opened.runner.granularity.is_of_opcodes:
            return _plan(options, opened)
        self.recorded.append(RecordedDpor())
        return [(self.recorded[-1], options.executions)]

    def _tree(self) -> Mapping[str, Any] | None:
        """Return the choice tree of the last search; ``None`` if another search has proved more."""
        return self.recorded[-1].record() if self.recorded and self.recorded[-1].is_finished else None

    def _opened(self, program: P, granularity: Granularity, modules: frozenset[str] = frozenset()) -> OpenRunner[A]:
        with self._unwatched(program):
            exploration_target = self.exploration_target.at(granularity).wider(modules)
        exploration_target.sandbox.while_loading = lambda: self._unwatched(program)
        open_runner = exploration_target.open_runner(
            program, strict_errors=self.options.strict_errors, pulse=self.watch.alive
        )
        open_runner = _counting_calls(open_runner, self.calls)
        if self.excluded.findings or self.excluded.kinds:
            open_runner = _excluding(open_runner, self.excluded)
        return seeking_data_races(open_runner, self.excluded.knows) if self.seeks_data_races else open_runner

    @contextlib.contextmanager
    def _unwatched(self, program: P) -> Iterator[None]:
        """Suspend the watch for hangs while modules are loaded: loading may take longer than a call is allowed to."""
        self.watch.rest()
        try:
            yield
        finally:
            self.exploration_target.announce(program, self.watch)

    def _finding(self, program: P, result: ExplorationResult[A], until: float) -> Finding:
        """Return the finding of the smallest program found by ``until`` that shows a problem of the same kind."""
        assert result.problem is not None
        exploration_target = self.exploration_target.at(result.granularity)
        minimal = exploration_target.finding(program, result.problem)
        self.on_finding(with_confirmation(minimal, _NOT_TRIED, result.unseen))
        if result.counterexample is not None:
            rendered = self._rendered(program, result, result.counterexample)
            self.on_finding(with_confirmation(rendered, _NOT_TRIED, result.unseen))  # minimising may use up the budget
            half = (until - time.monotonic()) / 2  # the other half is for a schedule with fewer preemptions
            program, result = self._smaller(program, result, min(self.options.minimise_seconds, half))
            remaining = until - time.monotonic()
            result = with_fewest_preemptions(lambda granularity: self._opened(program, granularity), result, remaining)
        finding = self._described(program, result, max(until - time.monotonic(), _LEAST_POSSIBLE_SECONDS))
        if result.counterexample is None or finding.kind is FindingKind.DATA_RACE:
            return with_confirmation(finding, _NOT_TRIED, result.unseen)
        self.on_finding(with_confirmation(finding, _ENDED, result.unseen))
        exploration_target = self.exploration_target.at(result.granularity)
        return with_confirmation(
            finding,
            exploration_target.confirmation(
                program,
                finding,
                result.counterexample,
                self.watch,
                is_seen=not result.unseen,
                strict_errors=self.options.strict_errors,
                until=self.options.confirm_until,
            ),
            result.unseen,
        )

    def _smaller(self, program: P, first: ExplorationResult[A], seconds: float) -> tuple[P, ExplorationResult[A]]:
        """Return the smallest program in which a problem of the same kind is repeatable, and its exploration."""
        best, options, kind = first, self._quick(), first.problem and first.problem.kind

        def fails(candidate: P) -> bool:
            nonlocal best
            explored = self._investigated(candidate, options, first.granularity)
            if explored.counterexample is None or explored.problem is None or explored.problem.kind is not kind:
                return False
            if explored.is_in_doubt and not first.is_in_doubt:
                return False
            best = explored
            return True

        return self.exploration_target.smaller(program, fails, seconds=seconds, attempts=_MINIMISE_ATTEMPTS), best

    def _described(self, program: P, result: ExplorationResult[A], seconds: float) -> Finding:
        exploration_target = self.exploration_target.at(result.granularity)
        counterexample, problem = result.counterexample, result.problem
        assert problem is not None
        if counterexample is None:
            return exploration_target.finding(program, problem)
        if problem.kind is FindingKind.DATA_RACE:
            return self._rendered(program, result, counterexample)
        count = counterexample.preemptions
        interrupted = f"{count} preemption{'s' if count > 1 else ''}" if count else "no preemption needed"
        fewest = " (no schedule with fewer fails)" if counterexample.is_minimal else ""
        possible = Possible.UNKNOWN
        contract = exploration_target.contract(program)
        if not (result.is_long or contract):
            possible = self._possible(program, counterexample, result.granularity, min(seconds, _POSSIBLE_SECONDS))
        detail = f"{interrupted}{fewest}; {possible.value}."
        if contract:
            detail = f"It can happen in each loop in which {contract}."
        return self._rendered(program, result, counterexample, detail)

    def _rendered(
        self, program: P, result: ExplorationResult[A], counterexample: Counterexample[A], detail: str = ""
    ) -> Finding:
        """Return the finding of a counterexample, with its schedule; a data race is located where it is."""
        assert result.problem is not None
        finding = self.exploration_target.at(result.granularity).finding(
            program, result.problem, counterexample, strict_errors=self.options.strict_errors, detail=detail
        )
        if result.problem.kind is not FindingKind.DATA_RACE:
            return finding
        return replace(finding, location=result.problem.location)

    def _possible(
        self, program: P, counterexample: Counterexample[A], granularity: Granularity, seconds: float
    ) -> Possible:
        """Search the same program with switches only where an interpreter with a GIL can switch threads."""
        if granularity.with_gil is granularity or counterexample.preemptions == 0:
            return Possible.WITH_GIL
        options = self.options.candidates or replace(self._quick(), executions=_POSSIBLE_EXECUTIONS, seconds=seconds)
        result = self._investigated(program, options, granularity.with_gil)
        if result.problem is not None:
            return Possible.WITH_GIL
        if result.coverage is not Coverage.EXHAUSTED or self.exploration_target.excuses_own_threads(program):
            return Possible.UNKNOWN
        return Possible.FREE_THREADED

    def _quick(self) -> ExploreOptions:
        """Return the options for exploring smaller programs, and the same program with a GIL."""
        quick = replace(self.options, strategy=AUTO, samples=30, executions=300, seconds=1.0)
        return self.options.candidates or quick


def _plan(options: ExploreOptions, runner_and_judge: RunnerAndJudge[Any]) -> Sequence[tuple[Strategy, int]]:
    """Return the strategies to try in turn, each with its maximum number of executions."""
    if runner_and_judge.runner.granularity.is_of_opcodes:  # what they access is not known: nothing can be left out
        return [(OpcodeSampling(options.seed), options.executions)]
    if options.strategy == AUTO:
        walk = options.walk
        samples: tuple[Strategy, int] = (PartialOrderSampling(options.seed), options.samples)
        if not walk:
            return [samples, (Dpor(), options.executions)]
        single: list[tuple[Strategy, int]] = []
        if runner_and_judge.runner.granularity is Granularity.FREE:
            single = [(SinglePreemption(), _SINGLE_EXECUTIONS)]
        if runner_and_judge.runner.is_long:  # choices take time; these strategies need few of them
            sliced = (TimeSlices(options.seed), _SLICED_EXECUTIONS)
            pct = (Pct(options.seed, options.depth), options.executions // 2)
            first = [(strategy, _FIRST_SINGLE_EXECUTIONS) for strategy, _ in single]
            if runner_and_judge.runner.is_very_long:
                first = []  # there is time for few executions, and one preemption rarely shows anything
            dense = (PartialOrderSampling(options.seed), _DENSE_EXECUTIONS)
            return [*first, dense, sliced, *single, pct, (Dpor(), options.executions)]
        trial = Dpor()
        trial.is_trial, trial.share = True, _TRIAL_SHARE
        if runner_and_judge.runner.sandbox.loops.has_loops:  # few orders: most searches end, and samples repeat them
            trial.share = _LOOP_SHARE
            return [
                (trial, options.executions),
                samples,
                (Guided(options.seed, patience=walk), walk),
                (trial, options.executions),
            ]
        # With many threads the selective walk is faster; if a bug is deep, guided samples are.
        guided = Guided(options.seed, patience=walk)
        walks: list[tuple[Strategy, int]] = [(SelectiveWalk(options.seed), walk // 4), (guided, _MOST_WALKS * walk)]
        return [(trial, _TRIAL_EXECUTIONS), *single, samples, *walks, (trial, options.executions)]
    return [(strategy_named(options.strategy)(options), options.executions)]
