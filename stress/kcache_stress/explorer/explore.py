"""Explores one program after another: sampling first, then exhaustively, and makes a finding of what it finds."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from kcache_model.finding import Finding, FindingKind, confirmed
from kcache_model.minimise import MinimiseBudget, minimise
from kcache_model.outcomes import Outcome
from kcache_model.program import Program
from kcache_model.watch import Unwatched, Watch

from ..loading import load_target
from ..stress import StressOptions, repeat
from .audit import audit, sampling_granularity
from .counterexample import Counterexample, Possible, counterexample, smallest
from .execution import Problem
from .findings import bare_finding, told_finding
from .granularity import Granularity
from .judgement.program_judge import ProgramJudge
from .program_runner import ProgramRunner
from .search import SearchLimits, SearchResult, search
from .strategies.dpor import DivergedError, Dpor
from .strategies.interface import Coverage, Strategy
from .strategies.naive import Naive
from .strategies.opcode_sampling import OpcodeSampling
from .strategies.partial_order_sampling import PartialOrderSampling
from .strategies.pct import Pct
from .strategies.preemption_bounded import PreemptionBounded
from .strategies.random_walk import RandomWalk
from .strategies.state_hashing import StateHashing
from .subject import Subject
from .virtual.virtual_thread import UncontrolledError

_Searched: TypeAlias = SearchResult[Outcome]
_Shown: TypeAlias = Counterexample[Outcome]

_MINIMISE_ATTEMPTS = 150

_UNREDUCED_EXECUTIONS = 1_000
_UNSEEN = (
    "calls depend on each other in code that cannot be seen (C, eval, another package): what looks independent is not; "
    "name the package with --instrument, or rely on --strategy naive and on stress"
)

_UNSETTLED = (
    "some orders of calls that the happens-before relation admits could not be settled: steps of this granularity are "
    "too long; --granularity free settles them"
)

_CONFIRMING_SECONDS = 3.0

_SHALLOW_SAMPLES = 6
_SHALLOW_EXECUTIONS = 30
_DEEP_EVERY = 5


class StrategyName(enum.StrEnum):
    """How the interleavings of a program are searched."""

    AUTO = "auto"
    """A few samples, then exhaustively."""
    DPOR = "dpor"
    NAIVE = "naive"
    BOUNDED = "bounded"
    POS = "pos"
    PCT = "pct"
    RANDOM = "random"
    STATES = "states"
    """State hashing at synchronisation points; exhaustive for programs that are free of data races."""
    OPCODES = "opcodes"
    """Samples of steps as small as an opcode, of code that is not rewritten."""


@dataclass(frozen=True)
class ExploreOptions:
    """How programs are explored.

    Attributes:
        strategy: how interleavings are searched.
        granularity: where threads may be switched.
        samples: how many samples AUTO takes first.
        executions: the most executions of one program.
        seconds: the most time for one program.
        preemptions: the highest bound of BOUNDED.
        depth: the bug depth of PCT.
        seed: of everything random.
        strict_errors: ask for kcache's error types.
        minimise_seconds: how long a failing program is made smaller.
    """

    strategy: StrategyName = StrategyName.AUTO
    granularity: Granularity = Granularity.FREE
    samples: int = 20
    executions: int = 20_000
    seconds: float = 10.0
    preemptions: int = 2
    depth: int = 3
    seed: int = 0
    strict_errors: bool = False
    minimise_seconds: float = 5.0


@dataclass(frozen=True)
class Explored:
    """What exploring one program gave.

    Attributes:
        coverage: how much of its interleavings was covered.
        executions: how many executions it took.
        finding: what is wrong.
        note: why the search is no proof, where the strategy can tell.
        audited: how many executions at opcodes it was compared with.
        refused: the line that did what cannot be controlled; empty if none did. The search ended there.
    """

    coverage: Coverage
    executions: int
    finding: Finding | None = None
    note: str = ""
    audited: int = 0
    refused: str = ""

    @property
    def no_proof(self) -> str:
        """Why a search in which nothing is left to try proves nothing: ``FILE:LINE: what``; empty if it does."""
        return self.note if self.coverage is Coverage.NO_PROOF else ""

    @property
    def is_exhausted(self) -> bool:
        """Whether all interleavings were covered, and nothing is wrong with any."""
        return self.coverage is Coverage.EXHAUSTED and self.finding is None


def hunting(options: ExploreOptions, number: int) -> ExploreOptions:
    """How to explore one of many random programs when a fault is to be found soon.

    Most faults show in the first few executions of many programs, not in the last ones of few: only every fifth program
    is explored as far as ``options`` say.
    """
    if number % _DEEP_EVERY == _DEEP_EVERY - 1:
        return options
    executions = min(options.executions, _SHALLOW_EXECUTIONS)
    return replace(options, samples=min(options.samples, _SHALLOW_SAMPLES), executions=executions)


def explore(
    subject: Subject,
    program: Program,
    options: ExploreOptions,
    watch: Watch | None = None,
    on_finding: Callable[[Finding], None] = lambda _: None,
) -> Explored:
    """Search the interleavings of ``program``, and explain the first that is wrong.

    Args:
        subject: the implementation, instrumented with the granularity of ``options``.
        program: what the threads do.
        options: how to search.
        watch: told of the program, and of each execution.
        on_finding: told of a finding before it is made smaller, which may take a while or end the process.
    """
    return _Exploration(subject, options, watch or Unwatched(), on_finding).run(program)


class _Exploration:
    def __init__(
        self, subject: Subject, options: ExploreOptions, watch: Watch, on_finding: Callable[[Finding], None]
    ) -> None:
        self._subject = subject
        self._options = options
        self._watch = watch
        self._on_finding = on_finding

    def run(self, program: Program) -> Explored:
        self._watch.begin(program)
        try:
            return self._explored(program)
        except DivergedError as error:
            return Explored(Coverage.BUDGET_SPENT, 1, _nondeterministic(program, str(error)))
        except UncontrolledError as error:
            return Explored(Coverage.BUDGET_SPENT, 1, note=str(error), refused=str(error))
        finally:
            self._watch.rest()

    def _explored(self, program: Program) -> Explored:
        samples = self._subject.share.due()
        seen: set[object] | None = set() if samples else None
        result = self._search(program, self._options, seen)
        if result.problem is None:
            explored = Explored(result.coverage, result.executions, note=result.note)
            if not result.coverage.is_complete:
                return explored
            self._subject.share.spend(result.executions, samples)
            return explored if seen is None else self._audited(program, explored, samples, seen)
        finding = self._finding(program, result)
        if finding is None:
            return self._without_reduction(program, result)
        return Explored(Coverage.BUDGET_SPENT, result.executions, finding)

    def _audited(self, program: Program, explored: Explored, samples: int, seen: set[object]) -> Explored:
        """Compare what an exhaustive search has seen with samples that do not rely on the instrumentation."""
        granularity = sampling_granularity(self._subject.granularity)
        options = replace(self._options, granularity=granularity)
        other = _Exploration(self._subject.at(granularity), options, self._watch, self._on_finding)
        with other._at_work(program) as (runner, judge):
            result, lacking = audit(runner, judge, samples, self._options.seed, seen=seen)
        executions = explored.executions + result.executions
        finding = None if result.problem is None else other._finding(program, result)
        if finding is not None:
            return Explored(Coverage.BUDGET_SPENT, executions, finding, audited=result.executions)
        if result.problem is not None:
            lacking = f"an execution switched at opcodes is wrong, but not again: {result.problem.summary}"
        coverage = Coverage.NO_PROOF if lacking else explored.coverage
        note = "; ".join(filter(None, (lacking, explored.note)))
        return Explored(coverage, executions, note=note, audited=result.executions)

    def _without_reduction(self, program: Program, seen: _Searched) -> Explored:
        """Calls depend on each other behind the explorer's back: what is done in some order is all that counts."""
        unseen = _UNSEEN if self._subject.granularity is Granularity.FREE else _UNSETTLED
        executions = seen.executions
        for strategy in (PartialOrderSampling(self._options.seed), Naive()):
            with self._at_work(program) as (runner, judge):
                limits = SearchLimits(_UNREDUCED_EXECUTIONS, self._options.seconds)
                result = search(runner, strategy, judge, limits)
            executions += result.executions
            if result.problem is not None:
                finding = self._finding(program, result)
                return Explored(Coverage.BUDGET_SPENT, executions, finding, "" if finding else unseen)
        return Explored(Coverage.BUDGET_SPENT, executions, note=unseen)

    def _search(self, program: Program, options: ExploreOptions, seen: set[object] | None = None) -> _Searched:
        """Search with each strategy in turn until one finds something; add to ``seen`` how executions end."""
        executions = 0
        note = ""
        result = _Searched(Coverage.BUDGET_SPENT, 0, 0)
        with self._at_work(program) as (runner, judge):
            for strategy, limit in _plan(options, self._subject, judge):
                on_execution = None if seen is None else lambda run: seen.add(runner.outcome(run))
                result = search(
                    runner, strategy, judge, SearchLimits(limit, options.seconds), on_execution=on_execution
                )
                executions += result.executions
                if result.problem is not None or result.coverage.is_complete:
                    note = note or result.note
                    break
                if isinstance(strategy, StateHashing):
                    note = strategy.why_no_proof or "the states were too many for the budget"
        if note and result.coverage is Coverage.EXHAUSTED:
            # What switches at synchronisation points alone finds is a proof only without data races.
            result = replace(result, coverage=Coverage.BUDGET_SPENT)
        return replace(result, executions=executions, note=note)

    def _finding(self, program: Program, result: _Searched) -> Finding | None:
        found = self._confirmed(program, result)
        if found is None:
            return None
        self._on_finding(bare_finding(program, found if isinstance(found, Problem) else found.problem))
        if not isinstance(found, Counterexample):
            return bare_finding(program, found)
        smaller = self._smaller(program, found.problem.kind)
        if smaller != program:
            again = self._search(smaller, self._quick())
            better = self._confirmed(smaller, again) if again.problem is not None else None
            if isinstance(better, Counterexample):
                program, found = smaller, better
        found = self._with_fewest_preemptions(program, found)
        finding = self._explained(program, found)
        unseen = self._subject.sandbox.unseen(found.execution.trace)
        told = confirmed(replace(finding, unseen=unseen), lambda: self._goes_wrong(finding, program))
        is_confirmed = bool(unseen) and not told.unseen
        return replace(told, detail=f"{told.detail}\nReal threads go wrong in it, too.") if is_confirmed else told

    def _goes_wrong(self, finding: Finding, program: Program) -> bool:
        """Whether real threads go wrong in the program of a finding, too."""
        self._on_finding(finding)  # a thread that never comes back confirms it, too
        target = replace(load_target(self._subject.target.name), unsupported=self._subject.target.unsupported)
        options = StressOptions(seconds=_CONFIRMING_SECONDS, strict_errors=self._options.strict_errors)
        return repeat(target, program, options, self._watch).finding is not None

    def _confirmed(self, program: Program, result: _Searched) -> _Shown | Problem | None:
        with self._at_work(program) as (runner, judge):
            return counterexample(runner, judge, result)

    def _with_fewest_preemptions(self, program: Program, found: _Shown) -> _Shown:
        with self._at_work(program) as (runner, judge):
            return smallest(runner, judge, found)

    @contextlib.contextmanager
    def _at_work(self, program: Program) -> Iterator[tuple[ProgramRunner, ProgramJudge]]:
        self._subject = self._subject.settled()
        runner = ProgramRunner(self._subject, program, pulse=self._watch.alive)
        try:
            yield runner, ProgramJudge(program, runner.final_reads, strict_errors=self._options.strict_errors)
        finally:
            runner.clean_up()

    def _smaller(self, program: Program, kind: FindingKind) -> Program:
        def fails(candidate: Program) -> bool:
            self._watch.alive()
            try:
                result = self._search(candidate, self._quick())
            except DivergedError:
                return False
            return result.problem is not None and result.problem.kind is kind

        return minimise(program, fails, MinimiseBudget(self._options.minimise_seconds, _MINIMISE_ATTEMPTS))

    def _quick(self) -> ExploreOptions:
        return replace(self._options, strategy=StrategyName.AUTO, samples=30, executions=300, seconds=1.0)

    def _explained(self, program: Program, found: _Shown) -> Finding:
        smallest = " (no schedule with fewer does it)" if found.is_minimal else ""
        return told_finding(
            self._subject,
            program,
            found,
            strict_errors=self._options.strict_errors,
            detail=f"{_preemptions(found.preemptions)}{smallest}; {self._possible(program, found).value}.",
        )

    def _possible(self, program: Program, found: _Shown) -> Possible:
        """Search the same program with switches only where an interpreter with a global lock has them."""
        granularity = self._subject.granularity.with_gil
        if granularity is self._subject.granularity or found.preemptions == 0:
            return Possible.WITH_GIL
        subject = self._subject.at(granularity)
        options = replace(self._quick(), granularity=granularity, executions=3_000, seconds=10.0)
        result = _Exploration(subject, options, self._watch, lambda _: None)._search(program, options)
        if result.problem is not None:
            return Possible.WITH_GIL
        return Possible.FREE_THREADED if result.coverage is Coverage.EXHAUSTED else Possible.UNKNOWN


def _plan(options: ExploreOptions, subject: Subject, judge: ProgramJudge) -> list[tuple[Strategy, int]]:
    """The strategies to try in turn, each with the most executions that it may take."""
    dpor = Dpor()
    if subject.granularity.is_of_opcodes:  # what they access is not known, so nothing can be left out
        return [(OpcodeSampling(options.seed), options.executions)]
    match options.strategy:
        case StrategyName.AUTO:
            return [(PartialOrderSampling(options.seed), options.samples), (dpor, options.executions)]
        case StrategyName.DPOR:
            return [(dpor, options.executions)]
        case StrategyName.NAIVE:
            return [(Naive(), options.executions)]
        case StrategyName.BOUNDED:
            return [(PreemptionBounded(options.preemptions), options.executions)]
        case StrategyName.POS:
            return [(PartialOrderSampling(options.seed), options.executions)]
        case StrategyName.PCT:
            return [(Pct(options.seed, options.depth), options.executions)]
        case StrategyName.RANDOM:
            return [(RandomWalk(options.seed), options.executions)]
        case StrategyName.OPCODES:
            raise ValueError("the strategy called opcodes needs a subject with a granularity of opcodes")
        case StrategyName.STATES:
            return [(StateHashing(subject, judge), options.executions), (dpor, options.executions)]


def _preemptions(count: int) -> str:
    return "no thread has to be interrupted" if count == 0 else f"{count} preemption{'s' if count > 1 else ''}"


def _nondeterministic(program: Program, why: str) -> Finding:
    summary = f"the same schedule does not do the same each time: {why}; it cannot be explored"
    return bare_finding(program, Problem(FindingKind.NONDETERMINISM, summary))
