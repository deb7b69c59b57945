"""Late imports: modules that threads import during an execution.

Python imports a module once, and another thread that imports it waits until the import is done. So an import is one
step of an execution. If it happened in one execution only, the other executions would behave differently. So a module
that an execution has imported is loaded together with the other modules before the next execution.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator

from ..runtime.threads.scheduler import Scheduler


class LateImports:
    """The late imports of one sandbox.

    Args:
        scheduler: runs its threads.

    Attributes:
        are_new: whether a module was imported late since the last call of :meth:`settle`.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self.are_new = False
        self._scheduler = scheduler
        self._names: dict[str, None] = {}

    @contextlib.contextmanager
    def loading(self, name: str) -> Iterator[None]:
        """Context in which the code of a module runs; during an execution, no other thread runs meanwhile."""
        if not self._scheduler.live:
            yield
            return
        with self.undisturbed(name):
            yield
        self._names[name], self.are_new = None, True  # not if it fails: it then fails in each execution

    @contextlib.contextmanager
    def undisturbed(self, name: str) -> Iterator[None]:
        """Context in which no other thread runs, so that the import of a module is one step."""
        scheduler = self._scheduler
        if not scheduler.live:
            yield
            return
        scheduler.proof_obstacles[f"{name} is imported while threads run"] = None
        before, scheduler.loading, scheduler.live = scheduler.loading, True, False
        try:
            yield
        finally:
            scheduler.loading, scheduler.live = before, True

    def settle(self) -> None:
        """Record that all modules are about to be loaded again, including the late imports."""
        self.are_new = False

    def load(self) -> None:
        """Load the modules that were imported late."""
        for name in self._names:
            importlib.import_module(name)
