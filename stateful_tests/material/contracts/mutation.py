"""Runs a mutant in place of the true code: its module is compiled from the changed source when it is imported."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

from .law import Mutant


def plant(mutant: Mutant) -> None:
    """From now on, importing the module gives the mutant. For a process of its own: there is no way back."""
    assert mutant.module not in sys.modules, f"{mutant.module} has been imported already"
    sys.meta_path.insert(0, _Finder(mutant))


class _Finder(MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._mutant.module:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Loader(fullname, spec.origin, self._mutant)
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, mutant: Mutant) -> None:
        super().__init__(fullname, path)
        self._mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        # The inherited method would take the bytecode of the true source, or leave behind that of the mutant.
        path = self.get_filename(fullname)
        source = self._mutant.applied_to(self.get_data(path).decode())
        return compile(source, path, "exec", dont_inherit=True)
