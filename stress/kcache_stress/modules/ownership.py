"""Ownership of modules: which of them a sandbox copies, instruments, or shares with the process, by their names."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Final

from ..loading import TARGET_PREFIX
from ..runtime.world import PRIVATE_MODULES
from .private_packages import REAL_LOCKS, Kind
from .roots import SHARED_MODULES, Roots

_SHARED: Final = (Kind.NATIVE, Kind.PLAIN)


class Ownership:
    """Decisions about modules. Each sandbox decides about all modules of the process, and there may be thousands.

    Args:
        roots: the modules that are copied and instrumented.

    Attributes:
        roots: the modules that are copied and instrumented; :meth:`add_root` adds others.
        kinds: the kind of each unit that code in the sandbox has imported; see :mod:`.private_packages`.
    """

    def __init__(self, roots: Roots) -> None:
        self.kinds: dict[str, Kind] = {}
        self.roots = roots
        self._tops: dict[str, bool] = {}
        self._kinds_seen = 0

    def add_root(self, package: str) -> None:
        """Copy and instrument another package, too."""
        self.roots = replace(self.roots, packages=self.roots.packages | {package})
        self._tops.clear()

    def is_private(self, name: str) -> bool:
        """Whether code in the sandbox uses a private copy of the module."""
        if name in PRIVATE_MODULES:
            return True
        return self._concerns(name.partition(".")[0]) and (self.is_instrumented(name) or self.is_virtual(name))

    def is_instrumented(self, name: str) -> bool:
        """Whether the module is instrumented."""
        return name.startswith(TARGET_PREFIX) or self.roots.contain(name)

    def is_virtual(self, name: str) -> bool:
        """Whether the module is copied without instrumentation."""
        return name not in SHARED_MODULES and self._kind_of(name) is Kind.VIRTUAL

    def shares_locks(self, name: str) -> bool:
        """Whether controlled code may acquire the locks of a module of the process."""
        top = name.partition(".")[0]
        if top in REAL_LOCKS or self.is_private(name):
            return False
        if top in sys.stdlib_module_names:
            return True
        return self._concerns(top) and (self.roots.is_tied_to_c(name) or self._kind_of(name) in _SHARED)

    def is_shared(self, unit: str) -> bool:
        """Whether a unit is shared with the process."""
        return self.kinds[unit] in _SHARED

    def _concerns(self, top: str) -> bool:
        """Whether anything is known of a top-level package, or of modules below it."""
        if self._kinds_seen != len(self.kinds):
            self._tops.clear()
            self._kinds_seen = len(self.kinds)
        concerns = self._tops.get(top)
        if concerns is None:
            is_root = top.startswith(TARGET_PREFIX) or self.roots.concern(top)
            concerns = is_root or any(unit.partition(".")[0] == top for unit in self.kinds)
            self._tops[top] = concerns
        return concerns

    def _kind_of(self, name: str) -> Kind | None:
        """Return the kind of the unit of a module; ``None`` if the kind is not decided."""
        while name and name not in self.kinds:
            name = name.rpartition(".")[0]
        return self.kinds.get(name)
