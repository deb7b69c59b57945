"""The explorer as a subject: how fast it is, what it exhausts, what it finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter, process_time

from kcache_model.finding import Finding
from kcache_model.indexers.program import Program
from kcache_model.progress import NoProgress
from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.search import SearchLimits, SearchResult, search
from kcache_stress.engine.strategy import Strategy
from kcache_stress.indexers.exploration import explored_indexer
from kcache_stress.judgement.call_judge import CallJudge
from kcache_stress.objects.object_exploration import ObjectExplorationTarget
from kcache_stress.strategies.partial_order_sampling import PartialOrderSampling
from kcache_stress.target.explore import ExploreOptions, explore

MakeStrategy = Callable[[ObjectExplorationTarget, CallJudge], Strategy]


def sampling(subject: ObjectExplorationTarget, judge: CallJudge) -> Strategy:
    """Partial-order sampling."""
    del subject, judge
    return PartialOrderSampling(1)


def dpor(subject: ObjectExplorationTarget, judge: CallJudge) -> Strategy:
    """Dynamic partial-order reduction."""
    del subject, judge
    return Dpor()


@dataclass(frozen=True)
class Ran:
    """What a tool did with a program.

    Attributes:
        executions: how many executions it made.
        wall: seconds of wall-clock time.
        cpu: seconds of processor time.
        found: what it found, in a word or two; empty if nothing.
        claim: what it says about the program if it found nothing.
    """

    executions: int
    wall: float
    cpu: float
    found: str = ""
    claim: str = ""

    @property
    def rate(self) -> float:
        """Executions per second of processor time."""
        return self.executions / max(self.cpu, 1e-6)


class Explorer:
    """One target under one granularity, loaded once."""

    def __init__(self, spec: str, granularity: Granularity = Granularity.FREE) -> None:
        self.subject = explored_indexer(spec, granularity=granularity)

    def search(self, program: Program, make: MakeStrategy, limits: SearchLimits) -> Ran:
        """One search, from scratch: runner, judge and strategy are made anew, and paid for."""
        wall, cpu = perf_counter(), process_time()
        result = self.searched(program, make, limits)
        wall, cpu = perf_counter() - wall, process_time() - cpu
        found = "" if result.problem is None else result.problem.kind.value
        return Ran(result.executions, wall, cpu, found, result.coverage.value)

    def searched(self, program: Program, make: MakeStrategy, limits: SearchLimits) -> SearchResult:
        runner = self.subject.runner(program)
        judge = self.subject.judge(program, runner)
        return search(runner, make(self.subject, judge), judge, limits)

    def keep_on(self, program: Program, make: MakeStrategy, seconds: float) -> Ran:
        """Executions for so much processor time; a search that has exhausted the program is started again."""
        runner = self.subject.runner(program)
        judge = self.subject.judge(program, runner)
        executions, wall, cpu = 0, perf_counter(), process_time()
        while process_time() - cpu < seconds:
            limits = SearchLimits(seconds=seconds)
            executions += search(runner, make(self.subject, judge), judge, limits).executions
        return Ran(executions, perf_counter() - wall, process_time() - cpu)

    def explored(self, program: Program, options: ExploreOptions) -> Ran:
        """As `kcache explore` does it, up to the moment when something is found: samples, then exhaustively."""
        wall, cpu = perf_counter(), process_time()
        found, claim, counter = "", "", _Counter()
        try:
            result = explore(self.subject, program, options, counter, _stop)
            claim = result.coverage.value
            found = "" if result.finding is None else result.finding.kind.value
        except _FoundError as error:
            found = error.finding.kind.value
        return Ran(counter.executions, perf_counter() - wall, process_time() - cpu, found, claim)


class _Counter(NoProgress):
    """Counts executions."""

    executions = 0

    def alive(self) -> None:
        self.executions += 1


class _FoundError(Exception):
    """Enough: what was found need not be explained."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.summary)
        self.finding = finding


def _stop(finding: Finding) -> None:
    raise _FoundError(finding)


def median(runs: list[Ran]) -> Ran:
    """The run in the middle, by processor time for each execution."""
    return sorted(runs, key=lambda ran: ran.rate)[len(runs) // 2]
