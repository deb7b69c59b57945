"""Copies of the modules under test that several scenarios run on, one after another."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from kcache_model.shared_state import SharedState

from ..engine.granularity import Granularity
from .roots import Roots
from .sandbox import Sandbox
from .state.weak_registries import WeakRegistries


class Copies:
    """Instrumented copies of modules, which several scenarios may use one after another: making them takes seconds.

    Args:
        instrument: the packages and modules that are instrumented.
        granularity: where threads may be switched.
        folder: whose top-level modules are instrumented, too; ``None`` for none.
        expected: the modules that the scenarios will load; to name them saves time.

    Attributes:
        registries: the weak containers of the modules.
        is_used: whether some scenario was run on them, and may have left something.
        restores_each_time: whether what an execution changes in them is undone before the next one.
        states: what they were like when they were loaded, if they are restored.
        reloads_each_time: whether they are loaded again before each execution, which takes much longer.
    """

    def __init__(
        self,
        instrument: tuple[str, ...],
        granularity: Granularity = Granularity.FREE,
        folder: Path | None = None,
        expected: Sequence[str | Path] = (),
    ) -> None:
        self._given = instrument, folder, expected
        self.sandbox = Sandbox(Roots(frozenset(instrument), folder), granularity, expected)
        self.modules: dict[str | Path, ModuleType] = {}
        self.registries = WeakRegistries(())
        self.is_used = self.restores_each_time = self.reloads_each_time = False
        self.states: list[SharedState] = []
        self._served = 0
        self._others: dict[Granularity, Copies] = {}

    def serve(self) -> bool:
        """One more scenario is run on them; whether what it leaves in them is to be looked for: ever more rarely."""
        self._served += 1
        return not self._served & (self._served - 1)

    def undo(self) -> None:
        """Undo what the last execution has changed in them, as far as that is known."""
        self.registries.restore()
        for state in self.states:
            state.restore()

    def keep_state(self) -> None:
        """Remember what the modules are like, which no execution has used yet."""
        modules = self.sandbox.private_modules
        self.registries = WeakRegistries(modules)
        own = [one for one in modules if one.__name__.partition(".")[0] not in sys.stdlib_module_names]
        self.states = [SharedState(vars(one)) for one in own] if self.restores_each_time else []

    def at(self, granularity: Granularity) -> Copies:
        """Copies of the same modules for another granularity; made once."""
        if granularity is self.sandbox.granularity:
            return self
        instrument, folder, expected = self._given
        if granularity not in self._others:
            self._others[granularity] = Copies(instrument, granularity, folder, expected)
            self._others[granularity].restores_each_time = self.restores_each_time
            self._others[granularity].reloads_each_time = self.reloads_each_time
        return self._others[granularity]
