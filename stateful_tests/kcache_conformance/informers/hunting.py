"""Search for programs that go wrong with real threads; they are made small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kcache_model.finding import Finding
from kcache_model.informers.minimise import minimise
from kcache_model.informers.program import InformerProgram
from kcache_model.progress import ProgressListener
from kcache_stress.explorer.execution import Problem

from .fake_server import FakeServer
from .findings import InformerToken, bare_finding, finding_of
from .real import RealInformer, noted
from .target import InformerTarget

_SMALLER_SECONDS: Final = 10.0


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
        watch: ProgressListener,
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
            program = minimise(program, fails, seconds=_SMALLER_SECONDS, attempts=40)
        return finding_of(phase, best, InformerToken(self._target.name, program, best.kind), detail=stacks)
