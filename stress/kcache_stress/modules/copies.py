"""Copies of the modules under test that several scenarios run on, one after another."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from pathlib import Path
from types import ModuleType

from kcache_model.shared_state import SharedState

from ..engine.granularity import Granularity
from .roots import Roots
from .sandbox import Sandbox
from .state.weak_registries import WeakRegistries


class Copies:
    """Copies of modules, instrumented. Several scenarios use them one after another, as creating them takes seconds.

    Args:
        instrument: the packages and modules that are instrumented.
        granularity: the places at which threads may be switched.
        folder: a folder whose top-level modules are instrumented, too; ``None`` for none.
        expected: the modules that the scenarios will load; naming them saves time.

    Attributes:
        sandbox: the sandbox of the copies.
        modules: name or file -> module, of the modules that were requested.
        registries: the weak containers of the modules.
        is_used: whether a scenario was run on the copies, and may have changed their state.
        restores_each_time: whether the shared state of the modules is restored after each execution.
        rehearsed: key of the calls of a scenario -> its number of threads, of scenarios that ran on these copies.
        states: the state of the modules when they were loaded; empty if they are not restored.
        reloads_each_time: whether the modules are loaded again before each execution, which takes much longer.
    """

    def __init__(
        self,
        instrument: tuple[str, ...],
        granularity: Granularity = Granularity.FREE,
        folder: Path | None = None,
        expected: Sequence[str | Path] = (),
    ) -> None:
        self._arguments = instrument, folder, expected
        self.sandbox = Sandbox(Roots(frozenset(instrument), folder), granularity, expected)
        self.modules: dict[str | Path, ModuleType] = {}
        self.registries = WeakRegistries(())
        self.is_used = self.restores_each_time = self.reloads_each_time = False
        self.rehearsed: dict[Hashable, int] = {}
        self.states: list[SharedState] = []
        self._served = 0
        self._others: dict[Granularity, Copies] = {}

    def serve(self) -> bool:
        """Count one more scenario; return whether to search for its leftovers: for the 1st, 2nd, 4th, 8th, ... one."""
        self._served += 1
        return not self._served & (self._served - 1)

    def undo(self) -> None:
        """Undo the known changes of the last execution: in weak containers, and in :attr:`states`."""
        self.registries.restore()
        for state in self.states:
            state.restore()

    def keep_state(self) -> None:
        """Record the state of the modules, which no execution has used yet."""
        modules = self.sandbox.private_modules
        self.registries = WeakRegistries(modules)
        own = [one for one in modules if one.__name__.partition(".")[0] not in sys.stdlib_module_names]
        self.states = [SharedState(vars(one)) for one in own] if self.restores_each_time else []

    def at(self, granularity: Granularity) -> Copies:
        """Return copies of the same modules for another granularity; they are created once."""
        if granularity is self.sandbox.granularity:
            return self
        instrument, folder, expected = self._arguments
        if granularity not in self._others:
            self._others[granularity] = Copies(instrument, granularity, folder, expected)
            self._others[granularity].restores_each_time = self.restores_each_time
            self._others[granularity].reloads_each_time = self.reloads_each_time
        return self._others[granularity]
