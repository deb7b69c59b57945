"""Programs under the explorer: their interleavings, one after another, each judged by the model."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any, Final

from kcache_model.finding import Finding, FindingKind
from kcache_model.queues import operations as op
from kcache_model.queues.driver import QueueDriver
from kcache_model.queues.linearizable import FINAL_THREAD, PREFIX_THREAD, QueueCall, QueueVerdict, check_calls
from kcache_model.queues.minimise import minimise
from kcache_model.queues.operations import Operation
from kcache_model.queues.outcomes import Outcome
from kcache_model.queues.program import QueueProgram
from kcache_model.verdict import Status
from kcache_model.watch import Unwatched, Watch
from kcache_stress.explorer.audit import AuditShare
from kcache_stress.explorer.execution import Problem
from kcache_stress.explorer.granularity import Granularity
from kcache_stress.explorer.reach import existing
from kcache_stress.explorer.sandbox import CannotExploreError
from kcache_stress.explorer.scenarios import (
    Copies,
    Load,
    Scenario,
    ScenarioReplay,
    ScenarioResult,
    explore_scenario,
    replay_scenario,
)
from kcache_stress.explorer.schedule import Schedule
from kcache_stress.explorer.strategies.interface import Coverage
from kcache_stress.explorer.virtual.virtual_thread import SetupDeadlockError
from kcache_stress.loading import named_packages

from .findings import Setting, concurrent_finding
from .programs import may_wait_for_ever
from .sequential import noted
from .target import QueueTarget

_CONSUMER: Final = "kcache_model.queues.consumer"
_REFERENCE: Final = "kcache.queues"
_MARKS: Final = re.compile(r"\bconsumer\.py:\d+ in (look|end): ")
"""Steps of the harness that no reader wants to see."""
_MOST_LEFT: Final = 40
_SMALLER_SECONDS: Final = 8.0
_SMALLER_ATTEMPTS: Final = 60


@dataclass
class Recording:
    """What the calls of one execution gave."""

    calls: list[QueueCall] = field(default_factory=list)
    verdict: QueueVerdict | None = None


def explored_scenario(
    target: QueueTarget, program: QueueProgram, watch: Watch, recording: Recording, *, strict_errors: bool = False
) -> Scenario:
    """The program as a scenario for the explorer.

    Args:
        target: the implementation; its name says how a private copy of it is loaded.
        program: what the threads do.
        watch: told of each execution.
        recording: filled with the calls of each execution.
        strict_errors: ask for kcache's error types.
    """
    place = place_of(target)
    run: list[_Execution] = []

    def setup(load: Load) -> Sequence[Callable[[], object]]:
        watch.alive()
        factory: Any = reduce(getattr, place.name.split("."), load(place.module))
        recording.calls, recording.verdict = [], None
        run[:] = [_Execution(factory, program, load(_CONSUMER), recording.calls)]
        return run[0].threads()

    def check(_: list[object]) -> str | None:
        run[0].read_back()
        recording.verdict = check_calls(program, recording.calls, strict_errors=strict_errors)
        return recording.verdict.reason if recording.verdict.status is Status.VIOLATION else None

    return Scenario(place.instrument, setup, check)


@dataclass(frozen=True)
class Place:
    """Where the code of a target is.

    Attributes:
        module: its module, by name or file.
        name: of the factory in it.
        instrument: the packages to instrument: its own, and what may be built on.
        folder: where further modules of it lie, if it is a file.
    """

    module: str | Path
    name: str
    instrument: tuple[str, ...]
    folder: Path | None


def place_of(target: QueueTarget) -> Place:
    """Where the code of a target is that was loaded by name."""
    location, _, name = target.name.rpartition(":")
    packages = {_CONSUMER, _REFERENCE, *named_packages(target.factory, target.name)}
    if location.endswith(".py"):
        file = Path(location).resolve()
        return Place(file, name, tuple(sorted(packages)), file.parent)
    own = location if location.partition(".")[0] == "kcache" else location.partition(".")[0]
    return Place(location, name, tuple(sorted({*packages, own})), None)


class _Execution:
    """One queue, its threads, and what their calls gave."""

    def __init__(
        self, factory: Callable[..., Any], program: QueueProgram, consumer: Any, calls: list[QueueCall]
    ) -> None:
        self._program = program
        self._calls = calls
        self._ticks = itertools.count()
        self._driver = QueueDriver(factory, program, consumer.Consumer, (SetupDeadlockError,))
        self._marks = [consumer.Mark() for _ in program.threads]
        for position, operation in enumerate(program.prefix):
            self._call(PREFIX_THREAD, position, operation)

    def threads(self) -> list[Callable[[], list[Outcome]]]:
        """What each thread does; it returns what its calls gave."""
        return [self._thread(number) for number in range(len(self._program.threads))]

    def read_back(self) -> None:
        """What is left when the threads have ended, in the end after closing."""
        positions = itertools.count()

        def call(operation: Operation) -> Outcome:
            return self._call(FINAL_THREAD, next(positions), operation)

        for operation in (op.has_synced(), op.known(), op.close()):
            call(operation)
        for _ in range(_MOST_LEFT):
            if call(op.pop()).error is not None:
                break
        call(op.known())

    def _thread(self, number: int) -> Callable[[], list[Outcome]]:
        own, others = self._marks[number], self._marks[:number] + self._marks[number + 1 :]

        def work() -> list[Outcome]:
            given = []
            for position, operation in enumerate(self._program.threads[number]):
                # Whether a call of another thread has ended by now is part of what is explored.
                for other in others:
                    other.look()
                given.append(self._call(number, position, operation, own.end))
            return given

        return work

    def _call(
        self, thread: int, position: int, operation: Operation, end: Callable[[], None] = lambda: None
    ) -> Outcome:
        invoked = next(self._ticks)
        outcome = self._driver.call(operation)
        end()
        self._calls.append(QueueCall(thread, position, operation, invoked, next(self._ticks), outcome))
        return outcome


@dataclass(frozen=True)
class ExploredProgram:
    """What exploring one program gave.

    Attributes:
        result: of the search.
        finding: what is wrong.
    """

    result: ScenarioResult
    finding: Finding | None = None

    @property
    def no_proof(self) -> str:
        """Why a search in which nothing is left to try proves nothing: ``FILE:LINE: what``; empty if it does."""
        return self.result.note if self.result.coverage is Coverage.NO_PROOF else ""

    @property
    def is_exhausted(self) -> bool:
        """Whether all interleavings were covered, and nothing is wrong with any."""
        return self.result.coverage is Coverage.EXHAUSTED and self.finding is None


class QueueExplorer:
    """Explores programs on one target.

    Args:
        target: the implementation.
        setting: for findings.
        watch: told of each program and each execution.
        on_finding: told of a finding before it is made smaller.

    Raises:
        TargetError: there is no such package to instrument.
    """

    def __init__(
        self,
        target: QueueTarget,
        setting: Setting,
        watch: Watch,
        on_finding: Callable[[Finding], None] = lambda _: None,
    ) -> None:
        self._target = target
        self._setting = setting
        self._watch = watch
        self._on_finding = on_finding
        place = place_of(target)
        self._copies = Copies((*place.instrument, *existing(setting.instrument)), folder=place.folder)
        self._share = AuditShare()
        self._is_loaded = False

    def explore(self, program: QueueProgram, *, executions: int = 300, seconds: float = 2.0) -> ExploredProgram:
        """Search the interleavings of a program; the first that is wrong, as small as can be.

        Raises:
            CannotExploreError: the target cannot be scheduled.
        """
        result, _ = self._search(program, executions, seconds)
        if result.problem is None:
            return ExploredProgram(result)
        self._on_finding(self._bare(program, result.problem))
        kind = result.problem.kind
        best = result

        def fails(candidate: QueueProgram) -> bool:
            nonlocal best
            if not candidate.threads or may_wait_for_ever(candidate):
                return False
            found, _ = self._search(candidate, executions, 1.0)
            if found.problem is None or found.problem.kind is not kind:
                return False
            best = found
            return True

        program = minimise(program, fails, seconds=_SMALLER_SECONDS, attempts=_SMALLER_ATTEMPTS)
        self._watch.rest()
        return ExploredProgram(result, self.told(program, best))

    def follow(
        self, program: QueueProgram, schedule: Schedule, granularity: Granularity = Granularity.FREE
    ) -> Finding | None:
        """The finding of one schedule, if it still shows anything."""
        recording = Recording()
        replay = replay_scenario(self._scenario(program, recording), schedule, copies=self._copies.at(granularity))
        self._watch.rest()
        if replay.problem is None:
            return None
        return self._finding(program, schedule, granularity, replay, recording)

    def told(self, program: QueueProgram, result: ScenarioResult) -> Finding:
        """The finding of a search, with what its schedule does."""
        assert result.problem is not None
        if not result.schedule:
            return self._bare(program, result.problem)
        finding = self.follow(program, result.schedule, result.granularity) or self._bare(program, result.problem)
        return replace(finding, unseen=result.unseen)

    def _search(self, program: QueueProgram, executions: int, seconds: float) -> tuple[ScenarioResult, Recording]:
        recording = Recording()
        scenario = self._scenario(program, recording)
        samples = self._share.due()
        result = explore_scenario(
            scenario, seconds=seconds, executions=executions, copies=self._copies, samples=samples
        )
        if result.coverage.is_complete:
            self._share.spend(result.executions - result.audited, samples)
        self._watch.rest()
        if result.refused:
            raise CannotExploreError(result.refused)
        return result, recording

    def _scenario(self, program: QueueProgram, recording: Recording) -> Scenario:
        if not self._is_loaded:
            # Nobody watches meanwhile: it may take a while, and the target was loaded once already.
            self._is_loaded = True
            first = QueueProgram(program.kind, program.options, threads=((op.is_closed(),),))
            scenario = explored_scenario(self._target, first, Unwatched(), Recording())
            explore_scenario(scenario, executions=1, copies=self._copies, samples=0)
        self._watch.note(noted(program))
        return explored_scenario(
            self._target, program, self._watch, recording, strict_errors=self._setting.strict_errors
        )

    def _bare(self, program: QueueProgram, problem: Problem) -> Finding:
        return concurrent_finding(self._setting, "explorer", problem.kind, problem.summary, program)

    def _finding(
        self,
        program: QueueProgram,
        schedule: Schedule,
        granularity: Granularity,
        replay: ScenarioReplay,
        recording: Recording,
    ) -> Finding:
        assert replay.problem is not None
        kind, verdict = replay.problem.kind, recording.verdict
        expected = observed = None
        if kind is FindingKind.INVARIANT and verdict is not None and verdict.wrong is not None:
            expected, observed = verdict.expected, verdict.wrong.outcome
            raises = observed.error is not None and expected is not None and expected.error is None
            kind = FindingKind.EXCEPTION if raises else FindingKind.NONLINEARIZABLE
        token = replace(
            self._setting.token(program, kind),
            schedule=schedule,
            fingerprint=replay.fingerprint,
            granularity=granularity,
        )
        return concurrent_finding(
            self._setting,
            "explorer",
            kind,
            replay.problem.summary,
            program,
            recording.calls,
            token=token,
            interleaving="\n".join(line for line in replay.story if not _MARKS.search(line)),
            expected=expected,
            observed=observed,
        )
