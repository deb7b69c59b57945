"""Interface between an exploration and a target: it runs the target's programs and judges their executions."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, Protocol, TypeVar

from kcache_model.finding import Finding
from kcache_model.progress import ProgressListener

from ..engine.audit import AuditShare
from ..engine.counterexample import Counterexample
from ..engine.execution import A, Problem
from ..engine.granularity import Granularity
from ..modules.sandbox import Sandbox
from .confirmation import Confirmation
from .exploration_result import OpenRunner

P = TypeVar("P")
"""Type of the programs."""


class ExplorationTarget(Protocol[P, A]):
    """One target, ready to be explored at one granularity."""

    @property
    def granularity(self) -> Granularity:
        """The points at which its threads may be switched."""
        ...

    @property
    def share(self) -> AuditShare:
        """The share of its executions that are audits."""
        ...

    def contract(self, program: P, /) -> str:
        """Return the order of callbacks that its findings need; empty if it has no event loop."""
        ...

    def assumes(self, program: P, /) -> str:
        """Return what proofs about the program take for granted about event loops; empty if it has none."""
        ...

    def excuses_own_threads(self, program: P, /) -> bool:
        """Return whether what threads of the target may have half done explains results: fewer of them are wrong."""
        ...

    @property
    def target(self) -> Any:
        """The target; its ``unsupported`` names the operations that the target does not offer."""
        ...

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox that holds its instrumented code."""
        ...

    def at(self, granularity: Granularity) -> ExplorationTarget[P, A]:
        """Return the same target at another granularity; each one is built once."""
        ...

    def wider(self, modules: frozenset[str]) -> ExplorationTarget[P, A]:
        """Return the same target with these modules instrumented, too; itself if there are none.

        Raises:
            CannotExploreError: the modules cannot be loaded.
        """
        ...

    def announce(self, program: P, watch: ProgressListener) -> None:
        """Report to ``watch`` that a program is about to run."""
        ...

    def open_runner(self, program: P, *, strict_errors: bool, pulse: Callable[[], None]) -> OpenRunner[A]:
        """Return a context manager with the runner and the judge of a program; ``pulse`` precedes each execution.

        Raises:
            CannotExploreError: the explorer cannot schedule the target.
        """
        ...

    def smaller(self, program: P, fails: Callable[[P], bool], *, seconds: float, attempts: int) -> P:
        """Return a program that still fails and is not larger than ``program``."""
        ...

    def finding(
        self,
        program: P,
        problem: Problem,
        counterexample: Counterexample[A] | None = None,
        *,
        strict_errors: bool = False,
        detail: str = "",
    ) -> Finding:
        """Create the finding of a problem; if there is a counterexample, the finding describes its execution."""
        ...

    def confirmation(
        self,
        program: P,
        finding: Finding,
        counterexample: Counterexample[A],
        watch: ProgressListener,
        *,
        is_seen: bool,
        strict_errors: bool,
        until: float = inf,
    ) -> Confirmation:
        """Run a program with real threads, and return whether they confirm the finding.

        Args:
            program: the program that fails.
            finding: how the program fails.
            counterexample: the counterexample of the finding.
            watch: the listener that is notified of each run.
            is_seen: whether the explorer observed all code that ran in the counterexample.
            strict_errors: require kcache's error types.
            until: the moment on ``time.monotonic`` after which only a few runs are made.
        """
        ...
