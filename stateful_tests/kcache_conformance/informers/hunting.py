"""Looks for programs that go wrong, and makes them small: under the explorer where that is possible, else for real."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, Literal

from kcache_model.finding import Finding, FindingKind
from kcache_model.informers.minimise import minimise
from kcache_model.informers.program import InformerProgram
from kcache_model.watch import Watch
from kcache_stress.explorer.execution import Problem
from kcache_stress.explorer.granularity import Granularity
from kcache_stress.explorer.reach import existing
from kcache_stress.explorer.sandbox import CannotExploreError
from kcache_stress.explorer.scenarios import ScenarioResult

from .fake_server import FakeServer
from .findings import InformerToken, bare_finding, finding_of
from .real import RealInformer
from .target import InformerTarget, load_informer_target
from .virtual import VirtualInformer, virtual_informer

_SMALLER_SECONDS: Final = 6.0
_SMALLER_REAL_SECONDS: Final = 10.0
_CANDIDATE_SECONDS: Final = 1.0


class VirtualHunter:
    """Explores programs of one target.

    Args:
        spec: the name of the target.
        watch: told of each program and each execution.
        on_finding: told of a finding before it is made smaller.
        instrument: further packages to instrument.

    Raises:
        TargetError: there is no such package to instrument.
        CannotExploreError: the target cannot be scheduled.
    """

    def __init__(
        self,
        spec: str,
        watch: Watch,
        on_finding: Callable[[Finding], None] = lambda _: None,
        instrument: tuple[str, ...] = (),
    ) -> None:
        self._spec = spec
        self._instrument = existing(instrument)
        self._watch = watch
        self._on_finding = on_finding
        self._informers: dict[Granularity, VirtualInformer] = {}

    def run_once(self, program: InformerProgram) -> Problem | None:
        """What is wrong with a program along one schedule, always the same."""
        return self.search(program, Granularity.SYNC, "bounded", preemptions=0, executions=1).problem

    def search(
        self,
        program: InformerProgram,
        granularity: Granularity,
        strategy: Literal["dpor", "pos", "bounded"],
        *,
        preemptions: int = 1,
        executions: int = 100_000,
        seconds: float = 10.0,
        seed: int = 0,
    ) -> ScenarioResult:
        """Search the interleavings of a program."""
        informer = self._informer(granularity)
        try:
            return informer.explore(
                program,
                strategy=strategy,
                preemptions=preemptions,
                executions=executions,
                seconds=seconds,
                seed=seed,
                on_loading=self._watch.rest,
                on_execution=self._noting(program),
            )
        finally:
            self._watch.rest()

    def smallest(
        self,
        phase: str,
        program: InformerProgram,
        first: ScenarioResult,
        search: Callable[[InformerProgram], ScenarioResult],
    ) -> Finding:
        """The finding of the smallest program in which ``search`` finds a problem of the same kind."""
        assert first.problem is not None
        self._on_finding(bare_finding(phase, first.problem, self._spec, program))
        kind, best = first.problem.kind, first

        def fails(candidate: InformerProgram) -> bool:
            nonlocal best
            result = search(candidate)
            if result.problem is None or result.problem.kind is not kind:
                return False
            best = result
            return True

        small = minimise(program, fails, seconds=_SMALLER_SECONDS)
        return self.told(phase, small, best)

    def told(self, phase: str, program: InformerProgram, result: ScenarioResult) -> Finding:
        """The finding of a search, with what its schedule does."""
        assert result.problem is not None
        if not result.schedule:
            return bare_finding(phase, result.problem, self._spec, program)
        token = InformerToken(
            self._spec,
            program,
            result.problem.kind,
            result.schedule,
            result.granularity,
            instrument=self._instrument,
        )
        finding = self.follow(phase, token) or bare_finding(phase, result.problem, self._spec, program)
        return replace(finding, unseen=result.unseen)

    def follow(self, phase: str, token: InformerToken) -> Finding | None:
        """The finding of one schedule, if it still shows anything."""
        informer = self._informer(token.granularity)
        replay = informer.replay(token.program, token.schedule, self._watch.rest, self._noting(token.program))
        self._watch.rest()
        if replay.problem is None:
            return None
        told = replace(token, fingerprint=replay.fingerprint)
        detail = f"{token.program}\n{informer.told(token.program)}"
        return finding_of(phase, replay.problem, told, detail=detail, story=replay.story)

    def _informer(self, granularity: Granularity) -> VirtualInformer:
        found = self._informers.get(granularity)
        if found is None:
            found = virtual_informer(self._spec, granularity, self._instrument)
            self._require_control(found)
            self._informers[granularity] = found
        return found

    def _require_control(self, informer: VirtualInformer) -> None:
        """Refuse an informer that waits for something the explorer does not control: it would be accused of that."""
        plainest = InformerProgram()
        problem = informer.explore(
            plainest, preemptions=0, executions=1, on_loading=self._watch.rest, on_execution=self._noting(plainest)
        ).problem
        self._watch.rest()
        if problem is None or problem.kind is not FindingKind.DEADLOCK:
            return
        if RealInformer(load_informer_target(self._spec)).run(plainest) is None:
            raise CannotExploreError(
                "it waits for something outside of its own modules; name the packages that it is built on with "
                "--instrument, or in kcache_instrument of the factory"
            )

    def _noting(self, program: InformerProgram) -> Callable[[], None]:
        note = noted(program)
        return lambda: self._watch.note(note)


class RealHunter:
    """Runs programs of one target with real threads.

    Args:
        target: the informer.
        watch: told of each program.
        patience_seconds: how long nothing may move.
        on_finding: told of a finding before it is made smaller.
    """

    def __init__(
        self,
        target: InformerTarget,
        watch: Watch,
        patience_seconds: float,
        on_finding: Callable[[Finding], None] = lambda _: None,
    ) -> None:
        self._target = target
        self._watch = watch
        self._real = RealInformer(target, watch.alive, patience_seconds)
        self._on_finding = on_finding

    def make(self) -> None:
        """Make an informer, and let go of it; raises whatever its factory raises."""
        self._watch.note(noted(InformerProgram()))
        self._target.create(FakeServer())
        self._watch.rest()

    def run(self, program: InformerProgram) -> Problem | None:
        """What is wrong with a program, run once."""
        self._watch.note(noted(program))
        problem = self._real.run(program)
        self._watch.rest()
        return problem

    def finding(self, phase: str, program: InformerProgram, first: Problem, *, is_small: bool = False) -> Finding:
        """The finding of the smallest program that goes wrong in the same way, soon."""
        self._on_finding(bare_finding(phase, first, self._target.name, program))
        best, stacks = first, self._real.stacks

        def fails(candidate: InformerProgram) -> bool:
            nonlocal best
            problem = self.run(candidate)
            if problem is None or problem.kind is not first.kind:
                return False
            best = problem
            return True

        # A program that hangs leaves its threads behind, and costs the patience each time.
        if not is_small and not stacks:
            program = minimise(program, fails, seconds=_SMALLER_REAL_SECONDS, attempts=40)
        return finding_of(phase, best, InformerToken(self._target.name, program, best.kind), detail=stacks)


def noted(program: InformerProgram) -> str:
    """A program as a note for a watch."""
    return json.dumps(program.encode())


def from_note(note: str) -> InformerProgram | None:
    """The program of a note; ``None`` if it is another one."""
    try:
        data: Any = json.loads(note)
        return InformerProgram.decode(data)
    except ValueError:
        return None
