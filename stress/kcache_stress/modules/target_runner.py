"""Runners of programs whose code lives in a sandbox: what an exploration asks of one beyond what the engine does."""

from __future__ import annotations

from typing import Protocol

from ..engine.execution import A, HiddenTime, Runner
from ..engine.granularity import Granularity
from ..runtime.waits import running
from .sandbox import Sandbox
from .state_reset import StateReset


class TargetRunner(Runner[A], Protocol[A]):
    """Runs the threads of one program of a target again and again."""

    @property
    def sandbox(self) -> Sandbox:
        """Where the code of the threads lives."""
        ...

    @property
    def is_very_long(self) -> bool:
        """Whether an execution has so many events that a handful can be run."""
        ...

    @property
    def reset(self) -> StateReset:
        """How the modules under test are kept as they were loaded."""
        ...


class InSandbox:
    """The part of a runner that its sandbox answers.

    Attributes:
        sandbox: where the code of the threads lives.
    """

    sandbox: Sandbox

    @property
    def granularity(self) -> Granularity:
        """Where threads are switched."""
        return self.sandbox.granularity

    def hide_time(self, hidden: HiddenTime) -> None:
        """From now on, do not let threads that read the clock learn of the time that has passed so."""
        self.sandbox.scheduler.haste.hides = hidden

    def place(self) -> str:
        """``FILE:LINE`` where the first thread is that could go on; empty if there is none."""
        return running(self.sandbox.scheduler)
