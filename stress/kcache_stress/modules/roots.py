"""Roots of a sandbox: the modules that it copies and instruments, and the visibility of the code that it loads."""

from __future__ import annotations

import functools
import importlib.machinery
import sys
from dataclasses import dataclass
from pathlib import Path

from .beside_c import tied_to_c

SHARED_MODULES = ("kcache.errors", "kcache.interfaces", "kcache.transaction", "kcache.keys")
"""Modules whose objects the harness and an implementation exchange. Never copied: a copy's errors would not match."""


@dataclass(frozen=True)
class Roots:
    """The modules that are copied and instrumented.

    Attributes:
        packages: packages with all modules below them, except modules that are tied to parts in C. With a dotted name,
            the packages above and beside it are not copied.
        folder: a folder whose top-level modules are all instrumented; ``None`` for no folder.
    """

    packages: frozenset[str] = frozenset()
    folder: Path | None = None

    def contain(self, name: str) -> bool:
        """Whether the module called ``name`` is one of the roots."""
        return name not in SHARED_MODULES and self._cover(name) and not self.is_tied_to_c(name)

    def is_tied_to_c(self, name: str) -> bool:
        """Whether a module below the roots is not copied because it is tied to the parts of its package in C."""
        if not self._cover(name) or name in self.packages:
            return False
        units = {name.partition(".")[0], *(root for root in self.packages if name.startswith(f"{root}."))}
        return any(name in tied_to_c(unit) for unit in units)

    @functools.cached_property
    def _tops(self) -> frozenset[str]:
        """The top-level packages, for a quick check: few modules of the process lie below them."""
        return frozenset(root.partition(".")[0] for root in self.packages)

    def concern(self, top: str) -> bool:
        """Whether a top-level package may contain one of the roots."""
        return top in self._tops or self._is_in_folder(top)

    def _cover(self, name: str) -> bool:
        top = name.partition(".")[0]
        if top in self._tops and any(name == root or name.startswith(f"{root}.") for root in self.packages):
            return True
        return self._is_in_folder(top)

    def _is_in_folder(self, top: str) -> bool:
        return self.folder is not None and top not in sys.stdlib_module_names and _lies_in(str(self.folder), top)


@dataclass(frozen=True)
class Seen:
    """Visibility of the code under test for the explorer.

    Attributes:
        instrumented: the modules that are instrumented: each access is visible.
        virtual: the packages that are copied without instrumentation: only their locks and threads are visible.
        opaque: other imported packages in Python, shared with the process: not visible.
        native: other imported packages, and modules below the roots, that are completely or partly in C: not visible.
    """

    instrumented: tuple[str, ...] = ()
    virtual: tuple[str, ...] = ()
    opaque: tuple[str, ...] = ()
    native: tuple[str, ...] = ()


@functools.cache
def _lies_in(folder: str, name: str) -> bool:
    return importlib.machinery.PathFinder.find_spec(name, [folder]) is not None
