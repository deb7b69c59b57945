"""Target runners: runners of programs in a sandbox, with the members that an exploration needs in addition."""

from __future__ import annotations

from typing import Protocol

from ..engine.execution import A, HiddenTime, Runner
from ..engine.granularity import Granularity
from ..runtime.waits import running
from .sandbox import Sandbox
from .state_reset import StateReset


class TargetRunner(Runner[A], Protocol[A]):
    """Runner of the threads of one program of a target; it runs many executions."""

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox that contains the code of the threads."""
        ...

    @property
    def is_very_long(self) -> bool:
        """Whether an execution has so many events that only a few executions can be run."""
        ...

    @property
    def reset(self) -> StateReset:
        """The reset of the modules under test between executions."""
        ...


class InSandbox:
    """Base class of runners: the members that use only the sandbox, for programs whose executions are short.

    Attributes:
        sandbox: the sandbox that contains the code of the threads.
    """

    sandbox: Sandbox

    @property
    def granularity(self) -> Granularity:
        """The places at which threads may be switched."""
        return self.sandbox.granularity

    @property
    def is_long(self) -> bool:
        """Whether an execution has so many events that only few executions can be run."""
        return False

    @property
    def is_very_long(self) -> bool:
        """Whether an execution has so many events that only a handful of executions can be run."""
        return False

    def hide_time(self, hidden: HiddenTime) -> None:
        """Hide time that has passed while threads could go on, from threads that read the clock from now on."""
        self.sandbox.scheduler.haste.hides = hidden

    def place(self) -> str:
        """Return the place of the first thread that can go on; empty if no thread can."""
        return running(self.sandbox.scheduler)
