"""Modules that threads import while an execution is under way.

Python imports a module once, and a thread that imports it as well waits until that is done. So an import is one step of
an execution. Were it to happen in one execution alone, the others would do something else; so a module that one has
imported is loaded with the others before the next.
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
        are_new: whether some module was imported late since :meth:`settle`.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self.are_new = False
        self._scheduler = scheduler
        self._names: dict[str, None] = {}

    @contextlib.contextmanager
    def loading(self, name: str) -> Iterator[None]:
        """While this is entered, the code of a module runs: undisturbed if an execution is under way."""
        if not self._scheduler.live:
            yield
            return
        with self.undisturbed(name):
            yield
        self._names[name], self.are_new = None, True  # one that fails does so in each execution

    @contextlib.contextmanager
    def undisturbed(self, name: str) -> Iterator[None]:
        """While this is entered, no other thread runs: the import of a module is one step."""
        scheduler = self._scheduler
        if not scheduler.live:
            yield
            return
        scheduler.doubts[f"{name} is imported while threads run"] = None
        before, scheduler.loading, scheduler.live = scheduler.loading, True, False
        try:
            yield
        finally:
            scheduler.loading, scheduler.live = before, True

    def settle(self) -> None:
        """All modules are about to be loaded again, late ones included."""
        self.are_new = False

    def load(self) -> None:
        """Load the modules that were imported late."""
        for name in self._names:
            importlib.import_module(name)
