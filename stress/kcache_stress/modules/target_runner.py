"""Runners of programs whose code lives in a sandbox: what an exploration asks of one beyond what the engine does."""

from __future__ import annotations

from typing import Protocol

from ..engine.execution import A, HiddenTime, Runner
from ..engine.granularity import Granularity
from ..runtime.waits import running
from .sandbox import Sandbox


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
    def leftover(self) -> str:
        """What executions leave behind in the modules under test, so that others start from it; empty if nothing."""
        ...

    @property
    def inherits(self) -> bool:
        """Whether executions of other threads may have left something there before."""
        ...

    @property
    def is_surprised(self) -> bool:
        """Whether the modules did what they were not loaded for, and have to be loaded anew."""
        ...

    def load_anew(self) -> None:
        """Copy the modules again, with nothing in them that executions have left."""
        ...

    def start_anew(self) -> bool:
        """From now on let each execution find them as they were loaded, unless that takes too long; whether it does.

        To be called again where something is left nevertheless.
        """
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
