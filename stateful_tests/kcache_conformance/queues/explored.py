"""Programs under the explorer: their interleavings, one after another, each judged by the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any, Final

from kcache_model.finding import Finding
from kcache_model.queues import operations as op
from kcache_model.queues.driver import QueueDriver
from kcache_model.queues.minimise import minimise
from kcache_model.queues.operations import CallName
from kcache_model.queues.outcomes import Outcome
from kcache_model.queues.program import QueueProgram
from kcache_model.queues.script import call_text
from kcache_model.watch import Unwatched, Watch
from kcache_stress.explorer.audit import AuditShare
from kcache_stress.explorer.counterexample import replayed
from kcache_stress.explorer.execution import Problem
from kcache_stress.explorer.granularity import Granularity
from kcache_stress.explorer.reach import existing
from kcache_stress.explorer.sandbox import CannotExploreError
from kcache_stress.explorer.scenario_runner import ScenarioRunner
from kcache_stress.explorer.scenarios import (
    CallSequence,
    Copies,
    Load,
    Scenario,
    ScenarioResult,
    Work,
    explore_scenario,
)
from kcache_stress.explorer.schedule import Schedule
from kcache_stress.explorer.sources import fingerprint_of
from kcache_stress.explorer.story.narration import Texts, narrate
from kcache_stress.explorer.strategies.interface import Coverage
from kcache_stress.explorer.virtual.virtual_thread import SetupDeadlockError, UncontrolledError
from kcache_stress.loading import named_packages
from kcache_stress.report.interleaving import interleaving_text

from .findings import Setting, concurrent_finding
from .programs import may_wait_for_ever
from .queue_judge import READ_BACK, QueueJudge, Recording
from .sequential import noted
from .target import QueueTarget

_CONSUMER: Final = "kcache_model.queues.consumer"
_REFERENCE: Final = "kcache.queues"
_SMALLER_SECONDS: Final = 8.0
_SMALLER_ATTEMPTS: Final = 60


def explored_scenario(target: QueueTarget, program: QueueProgram, watch: Watch, recording: Recording) -> Scenario:
    """The program as a scenario for the explorer.

    Args:
        target: the implementation; its name says how a private copy of it is loaded.
        program: what the threads do.
        watch: told of each execution.
        recording: filled with what is called outside of the threads.
    """
    place = place_of(target)
    run: list[QueueDriver] = []

    def setup(load: Load) -> Sequence[Work]:
        watch.alive()
        factory: Any = reduce(getattr, place.name.split("."), load(place.module))
        driver = QueueDriver(factory, program, load(_CONSUMER).__dict__["Consumer"], (SetupDeadlockError,))
        run[:] = [driver]
        recording.queue = driver.queue
        recording.prefix, recording.final = [driver.call(operation) for operation in program.prefix], []
        return [CallSequence([partial(driver.call, operation) for operation in own]) for own in program.threads]

    def check(_: list[object]) -> None:
        recording.final = _read_back(run[0])

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


def _texts(program: QueueProgram, recording: Recording) -> Texts[object]:
    """What a reader is told of a program."""
    before = [call_text(operation) for operation in program.prefix]
    return Texts(
        called="queue",
        made=lambda: recording.queue,
        threads=[[call_text(operation) for operation in thread] for thread in program.threads],
        outcome=str,
        before=lambda _: list(zip(before, map(str, recording.prefix), strict=True)),
        afterwards=lambda _: [(call_text(READ_BACK[number]), str(got)) for number, got in recording.final],
    )


def _read_back(driver: QueueDriver) -> list[tuple[int, Outcome]]:
    """What is left when the threads have ended, in the end after closing."""
    found: list[tuple[int, Outcome]] = []
    is_empty = False
    for number, operation in enumerate(READ_BACK):
        if operation.name is CallName.POP:
            if is_empty:
                continue
            found.append((number, driver.call(operation)))
            is_empty = found[-1][1].error is not None
        else:
            found.append((number, driver.call(operation)))
    return found


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
        result = self._search(program, executions, seconds)
        if result.problem is None:
            return ExploredProgram(result)
        self._on_finding(self._bare(program, result.problem))
        kind = result.problem.kind
        best = result

        def fails(candidate: QueueProgram) -> bool:
            nonlocal best
            if not candidate.threads or may_wait_for_ever(candidate):
                return False
            found = self._search(candidate, executions, 1.0)
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
        runner = ScenarioRunner(self._scenario(program, recording), self._copies.at(granularity))
        try:
            _, problem, _ = replayed(runner, self._judge(program, recording), schedule)
            if problem is None:
                return None
            calls, verdict = recording.calls, recording.verdict
            narration = narrate(runner, schedule, _texts(program, recording))
        except UncontrolledError as error:
            raise CannotExploreError(str(error)) from error
        finally:
            runner.clean_up()
            self._watch.rest()
        expected = observed = None
        if verdict is not None and verdict.wrong is not None:
            expected, observed = verdict.expected, verdict.wrong.outcome
        token = replace(
            self._setting.token(program, problem.kind),
            schedule=schedule,
            fingerprint=fingerprint_of(runner.sandbox.sources),
            granularity=granularity,
        )
        return concurrent_finding(
            self._setting,
            "explorer",
            problem.kind,
            problem.summary,
            program,
            calls,
            token=token,
            interleaving=interleaving_text(narration, problem),
            expected=expected,
            observed=observed,
        )

    def told(self, program: QueueProgram, result: ScenarioResult) -> Finding:
        """The finding of a search, with what its schedule does."""
        assert result.problem is not None
        if not result.schedule:
            return self._bare(program, result.problem)
        finding = self.follow(program, result.schedule, result.granularity) or self._bare(program, result.problem)
        return replace(finding, unseen=result.unseen)

    def _search(self, program: QueueProgram, executions: int, seconds: float) -> ScenarioResult:
        recording = Recording()
        scenario = self._scenario(program, recording)
        samples = self._share.due()
        result = explore_scenario(
            scenario,
            seconds=seconds,
            executions=executions,
            copies=self._copies,
            samples=samples,
            judge=self._judge(program, recording),
        )
        if result.coverage.is_complete:
            self._share.spend(result.executions - result.audited, samples)
        self._watch.rest()
        if result.refused:
            raise CannotExploreError(result.refused)
        return result

    def _judge(self, program: QueueProgram, recording: Recording) -> QueueJudge:
        return QueueJudge(program, recording, strict_errors=self._setting.strict_errors)

    def _scenario(self, program: QueueProgram, recording: Recording) -> Scenario:
        if not self._is_loaded:
            # Nobody watches meanwhile: it may take a while, and the target was loaded once already.
            self._is_loaded = True
            first = QueueProgram(program.kind, program.options, threads=((op.is_closed(),),))
            scenario = explored_scenario(self._target, first, Unwatched(), Recording())
            explore_scenario(scenario, executions=1, copies=self._copies, samples=0)
        self._watch.note(noted(program))
        return explored_scenario(self._target, program, self._watch, recording)

    def _bare(self, program: QueueProgram, problem: Problem) -> Finding:
        return concurrent_finding(self._setting, "explorer", problem.kind, problem.summary, program)
