"""Changes that loading a target has made outside of it: some packages can be loaded once only in a process.

Such a package enters itself somewhere when it is imported, in ``builtins`` or in a table of the standard library, and
refuses to do so twice. The explorer needs a copy of its own beside the one that the process has. For that copy, it is
as if the process were fresh: what the import before it has changed in modules that were there before is taken back.
What an import has left in C, in files, or in modules of the standard library that it was the first to import, stays.
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
"""Modules in which nothing is taken back: what they have entered is about threads, imports and texts that are there."""

_OF_IMPORTS: Final = frozenset({"modules", "path", "path_hooks", "path_importer_cache", "meta_path"})
"""Attributes of :mod:`sys`: who loads copies puts them right."""


class FirstLoad:
    """Records what imports change.

    Attributes:
        known: the names of the modules that were there before the first target was loaded.
    """

    def __init__(self) -> None:
        self.known: frozenset[str] = frozenset()
        self._undone_by: list[Callable[[], None]] = []

    def begun(self) -> contextlib.AbstractContextManager[None]:
        """While this is entered, a target is loaded: that of the process if it is the first one."""
        if self.known:
            return contextlib.nullcontext()
        self.known = frozenset(sys.modules)
        return self.recorded()

    @contextlib.contextmanager
    def recorded(self) -> Iterator[None]:
        """While this is entered, modules are imported; it takes some 30 ms where hundreds of modules are loaded."""
        states = [SharedState(space, _OF_IMPORTS if space is vars(sys) else frozenset()) for space in _spaces()]
        try:
            yield
        finally:
            self._undone_by += (undo for state in states for undo in state.changes())

    def take_back(self) -> None:
        """Undo what the imports have changed, the last change first, where it has not changed again."""
        while self._undone_by:
            self._undone_by.pop()()


def _spaces() -> Iterator[dict[str, object]]:
    for name, module in list(sys.modules.items()):
        space = own_attributes(module)
        is_kept = name.partition(".")[0] in _KEPT or name.startswith("_frozen")
        if type(space) is dict and not is_kept and space.get("__name__") == name:
            yield space


FIRST_LOAD: Final = FirstLoad()
"""Of this process."""
