"""Stress: many rounds of random programs on real threads; each round is judged."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from kcache_model.finding import Finding, FindingKind
from kcache_model.history import FINAL_THREAD
from kcache_model.indexers.codec import INDEXERS
from kcache_model.indexers.items import Semantics
from kcache_model.indexers.program import History, Program
from kcache_model.indexers.target import INDEXES, Target
from kcache_model.object_types.noted_programs import begin
from kcache_model.progress import NoProgress, ProgressListener
from kcache_model.verdict import Status

from ..interpreter import has_gil
from ..real_threads.coverage import Coverage, overlapping
from ..real_threads.noise import Level, Noise
from ..real_threads.thread_pool import ThreadPool
from .judge import Answer, Judgement, judge, judge_stretch
from .recorder import Recording, record
from .session import Session
from .shrinking import smaller
from .workload import Length, Shape, random_program, stretches

_LONGEST_SAMPLE = 30
"""Most calls of a sample."""

_SWITCH_INTERVAL_SECONDS = 1e-6

_LEVELS = (Level(0.1), Level(0.3), Level(1.0))
"""Levels of noise. With rare naps, whole calls run between two naps; with frequent naps, each step is interrupted."""

_QUIET_SHARE, _QUIET_SHARE_IN_PARALLEL = 0.05, 0.5
"""Share of the rounds without noise. It is larger without a GIL: threads in parallel overlap without help."""

_ROUNDS_AT_ONCE = 20
_SHARE_OF_SHORT = 0.7
"""Share of the turns that run short programs; such a turn takes about as long as a turn of stretches."""

_SHRINK_SECONDS = 2.0
"""Time limit of shrinking a finding."""


@dataclass(frozen=True)
class StressOptions:
    """Options of a stress run.

    Attributes:
        seconds: time limit in seconds; checked between rounds.
        rounds: most rounds; ``None`` for no limit.
        least_rounds: number of rounds that run even if the time is up.
        seed: determines the programs. It cannot determine the schedule, which the operating system chooses.
        strict_errors: require kcache's error types.
        patience_seconds: if no call returns for this time, the round counts as hung.
        shape: size of the programs on new Indexers.
        length: length of the stretches of calls on one Indexer.
    """

    seconds: float = 10.0
    rounds: int | None = None
    least_rounds: int = 1
    seed: int = 0
    strict_errors: bool = False
    patience_seconds: float = 3.0
    shape: Shape = field(default_factory=Shape)
    length: Length = field(default_factory=Length)

    def with_threads(self, threads: int) -> StressOptions:
        """Return the same options with exactly this number of threads."""
        number = (threads, threads)
        return replace(self, shape=replace(self.shape, threads=number), length=replace(self.length, threads=number))


@dataclass
class StressReport:
    """Report of a stress run.

    Attributes:
        finding: the first finding, which ends the run; ``None`` if there is none.
        rounds: number of judged rounds.
        undecided: number of rounds that the judge could not decide within its budget.
        overlapping: number of rounds in which calls of different threads overlapped.
        coverage: the operations that were called, how they ended, and how often they overlapped another call.
        sample: the history of a correct round with overlapping calls, for display.
    """

    finding: Finding | None = None
    rounds: int = 0
    undecided: int = 0
    overlapping: int = 0
    coverage: Coverage = field(default_factory=Coverage)
    sample: History | None = None


def stress(
    target: Target,
    semantics: Semantics,
    options: StressOptions,
    watch: ProgressListener | None = None,
    on_round: Callable[[StressReport], None] = lambda _: None,
    on_finding: Callable[[Finding], None] = lambda _: None,
) -> StressReport:
    """Run random programs until the time is up or there is a finding.

    Args:
        target: the implementation. Exceptions of its factory propagate. If it may evict objects, no sessions run,
            because their monitor needs to know which objects are still stored.
        semantics: the generation of client-go that decides which results are right.
        options: limits and sizes.
        watch: receives each program before it runs, so that a crash can be attributed to the program.
        on_round: called after each round.
        on_finding: called with the finding before it is shrunk.
    """
    run = _Run(target, semantics, options, watch or NoProgress(), on_round)
    with run.underway():
        while run.goes_on():
            if target.may_evict or run.seeds.random() < _SHARE_OF_SHORT:
                run.short_programs()
            else:
                run.session()
        finding = run.report.finding
        if finding is not None:
            on_finding(finding)
            run.report.finding = smaller(finding, run.again, min(_SHRINK_SECONDS, run.left))
    return run.report


def repeat(
    target: Target,
    program: Program,
    options: StressOptions,
    watch: ProgressListener | None = None,
    on_round: Callable[[StressReport], None] = lambda _: None,
) -> StressReport:
    """Run one program many times, until the time is up or there is a finding."""
    options = options.with_threads(max(1, len(program.threads)))
    run = _Run(target, program.semantics, options, watch or NoProgress(), on_round)
    with run.underway():
        while run.goes_on():
            run.round(program)
    return run.report


class _Run:
    def __init__(
        self,
        target: Target,
        semantics: Semantics,
        options: StressOptions,
        watch: ProgressListener,
        on_round: Callable[[StressReport], None],
        pool: ThreadPool | None = None,
        noise: Noise | None = None,
    ) -> None:
        self.report = StressReport()
        self.seeds = random.Random(options.seed)
        self._target = target
        self._semantics = semantics
        self._options = options
        self._watch = watch
        self._on_round = on_round
        self._deadline = time.monotonic() + options.seconds
        self._pool = pool or self._new_pool()
        self._noise = noise or Noise(self.seeds.getrandbits(32))

    @contextmanager
    def underway(self) -> Iterator[None]:
        """Context in which rounds run: switches threads often; on exit, closes the noise and the pool."""
        try:
            with _tiny_switch_interval():
                yield
        finally:
            self._noise.close()
            self._pool.close()

    def goes_on(self) -> bool:
        """Whether another round should run: no finding yet, and within the limits of time and rounds.

        The limit of time does not apply to the first ``least_rounds`` rounds.
        """
        report, most = self.report, self._options.rounds
        has_time = report.rounds < self._options.least_rounds or time.monotonic() < self._deadline
        return report.finding is None and has_time and (most is None or report.rounds < most)

    @property
    def left(self) -> float:
        """Remaining time in seconds."""
        return max(0.0, self._deadline - time.monotonic())

    def short_programs(self) -> None:
        """Run one turn of short random programs, each on a new Indexer."""
        for _ in range(_ROUNDS_AT_ONCE):
            if self.goes_on():
                seed = self.seeds.getrandbits(48)
                self.round(random_program(seed, self._target, self._semantics, self._options.shape))

    def again(self, program: Program, seconds: float) -> Finding | None:
        """Run a program many times for some seconds, and return its finding. The report does not count these rounds."""
        options = replace(self._options, seconds=seconds, rounds=None, least_rounds=1, seed=self.seeds.getrandbits(32))
        again = _Run(self._target, program.semantics, options, self._watch, lambda _: None, self._pool, self._noise)
        while again.goes_on():
            again.round(program)
        finding = again.report.finding
        if finding is not None and finding.kind is FindingKind.HANG:
            self._pool = self._new_pool()  # threads of the old pool are stuck in the hang
        return finding

    def round(self, program: Program) -> None:
        """Run one program on a new Indexer, and judge the recording."""
        begin(self._watch, INDEXERS, program)
        patience = self._options.patience_seconds
        alive = self._watch.alive
        recording = record(self._target, program, self._pool, self._noise, self._level(), patience, alive)
        self._watch.rest()
        self._count(recording, judge(program, recording, strict_errors=self._options.strict_errors))

    def session(self) -> None:
        """Run a session: stretches on one Indexer, until one fails, no verdict is possible, or the time is up."""
        options = self._options
        strict = options.strict_errors
        plan = stretches(
            self.seeds.getrandbits(48), self._target, self._semantics, options.length, strict_errors=strict
        )
        indexes = () if INDEXES in self._target.unsupported else ("node", "tags")
        empty = Program(indexes, semantics=self._semantics)
        begin(self._watch, INDEXERS, empty)
        session = Session(self._target, indexes, self._semantics, self._noise, strict_errors=strict)
        self._watch.rest()
        for stretch in plan:
            if not self.goes_on():
                break
            played = session.play(stretch, self._pool, self._level(), options.patience_seconds, self._watch)
            self._count(played.recording, judge_stretch(played, strict_errors=strict))
            if played.status is not Status.OK or not session.can_go_on:
                break
        if self.report.finding is None:
            begin(self._watch, INDEXERS, empty)
            session.close()
            self._watch.rest()

    def _new_pool(self) -> ThreadPool:
        return ThreadPool(max(self._options.shape.threads[1], self._options.length.threads[1]))

    def _level(self) -> Level | None:
        quiet = _QUIET_SHARE if has_gil() else _QUIET_SHARE_IN_PARALLEL
        return None if self.seeds.random() < quiet else self.seeds.choice(_LEVELS)

    def _count(self, recording: Recording, judgement: Judgement) -> None:
        report = self.report
        report.rounds += 1
        report.undecided += judgement.answer is Answer.UNDECIDED
        has_met = report.coverage.add(recording.history.calls)
        report.overlapping += has_met
        if has_met and judgement.answer is Answer.FINE:
            report.sample = _better_sample(report.sample, recording.history)
        report.finding = judgement.finding
        self._on_round(report)


def _better_sample(best: History | None, history: History) -> History | None:
    """Return the history with more overlapping calls; ``best`` if ``history`` has more calls than ``_LONGEST_SAMPLE``.

    A sample is read at a glance. It has no final reads, because they show nothing of interest.
    """
    calls = tuple(call for call in history.calls if call.thread != FINAL_THREAD)
    if len(calls) > _LONGEST_SAMPLE or (best is not None and sum(overlapping(calls)) <= sum(overlapping(best.calls))):
        return best
    return replace(history, calls=calls)


@contextmanager
def _tiny_switch_interval() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_INTERVAL_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
