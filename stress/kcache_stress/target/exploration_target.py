"""The interface between an exploration and a target: where its programs run and are judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from kcache_model.finding import Finding
from kcache_model.progress import ProgressListener

from ..engine.audit import AuditShare
from ..engine.counterexample import Counterexample
from ..engine.execution import A, Problem
from ..engine.granularity import Granularity
from ..modules.sandbox import Sandbox
from .confirmation import Confirmation
from .investigation import OpenRunner

P = TypeVar("P")
"""Programs."""


class ExplorationTarget(Protocol[P, A]):
    """One target, ready to be explored at one granularity."""

    @property
    def granularity(self) -> Granularity:
        """Where its threads may be switched."""
        ...

    @property
    def share(self) -> AuditShare:
        """How much of what is done with it are audits."""
        ...

    @property
    def target(self) -> Any:
        """The target; its ``unsupported`` says what it does not offer."""
        ...

    @property
    def sandbox(self) -> Sandbox:
        """Where its code lives."""
        ...

    def at(self, granularity: Granularity) -> ExplorationTarget[P, A]:
        """The same target, with its threads switched elsewhere; made once."""
        ...

    def announce(self, program: P, watch: ProgressListener) -> None:
        """Tell ``watch`` that a program is about to run."""
        ...

    def open_runner(self, program: P, *, strict_errors: bool, pulse: Callable[[], None]) -> OpenRunner[A]:
        """The runner_and_judge of a program; ``pulse`` is called before each execution.

        Raises:
            CannotExploreError: the target cannot be scheduled.
        """
        ...

    def smaller(self, program: P, fails: Callable[[P], bool], *, seconds: float, attempts: int) -> P:
        """A program that fails still and is no larger."""
        ...

    def finding(
        self,
        program: P,
        problem: Problem,
        found: Counterexample[A] | None = None,
        *,
        strict_errors: bool = False,
        detail: str = "",
    ) -> Finding:
        """The finding of a problem, with what the counterexample does where there is one."""
        ...

    def confirmation(
        self,
        program: P,
        finding: Finding,
        found: Counterexample[A],
        watch: ProgressListener,
        *,
        is_seen: bool,
        strict_errors: bool,
    ) -> Confirmation:
        """Run a program with real threads.

        Args:
            program: the one that fails.
            finding: how it fails.
            found: the counterexample of the finding.
            watch: told of each run.
            is_seen: whether all code was seen that ran in the counterexample.
            strict_errors: ask for kcache's error types.
        """
        ...
