"""Changes that the import of a target makes in other modules: some packages can be loaded only once in a process.

Such a package registers itself when it is imported, in ``builtins`` or in a table of the standard library, and raises
if it is already registered. The explorer needs its own copy beside the copy of the process. Before it loads this copy,
it undoes the changes of the earlier import in modules that existed before, as if the process were fresh. It does not
undo changes in C, in files, or in modules of the standard library that the target was the first to import.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Final

from kcache_model.foreign import own_attributes
from kcache_model.shared_state import SharedState

from .private_packages import HARNESS

_KEPT: Final = HARNESS | {"threading", "_threading_local", "importlib", "linecache", "zipimport", "gc"}
"""Modules in which nothing is undone: their state describes threads, imports and sources that still exist."""

_OF_IMPORTS: Final = frozenset({"modules", "path", "path_hooks", "path_importer_cache", "meta_path"})
"""Attributes of :mod:`sys` that are not undone: the code that loads copies restores them."""


class FirstLoad:
    """Record of the changes that imports make.

    Attributes:
        known: names of the modules that existed before the first target was loaded; empty until then.
    """

    def __init__(self) -> None:
        self.known: frozenset[str] = frozenset()
        self._undone_by: list[Callable[[], None]] = []

    def begun(self) -> contextlib.AbstractContextManager[None]:
        """Context in which a target is loaded. Only the first target of the process is recorded."""
        if self.known:
            return contextlib.nullcontext()
        self.known = frozenset(sys.modules)
        return self.recorded()

    @contextlib.contextmanager
    def recorded(self) -> Iterator[None]:
        """Context in which imports are recorded; it costs about 30 ms if hundreds of modules are loaded."""
        states = [SharedState(space, _OF_IMPORTS if space is vars(sys) else frozenset()) for space in _spaces()]
        try:
            yield
        finally:
            self._undone_by += (undo for state in states for undo in state.changes())

    def take_back(self) -> None:
        """Undo the changes of the imports, the last one first, except where the value has changed again."""
        while self._undone_by:
            self._undone_by.pop()()


def _spaces() -> Iterator[dict[str, object]]:
    for name, module in list(sys.modules.items()):
        space = own_attributes(module)
        is_kept = name.partition(".")[0] in _KEPT or name.startswith("_frozen")
        if type(space) is dict and not is_kept and space.get("__name__") == name:
            yield space


FIRST_LOAD: Final = FirstLoad()
"""The record of this process."""
