"""Roots of a sandbox: the modules that it copies and instruments, and what it sees of the code that it loads."""

from __future__ import annotations

import functools
import importlib.machinery
import sys
from dataclasses import dataclass
from pathlib import Path

from .beside_c import tied_to_c

SHARED_MODULES = ("kcache.errors", "kcache.interfaces", "kcache.transaction", "kcache.keys")
"""What the harness and an implementation exchange: never copied, or an error would not be recognised as what it is."""


@dataclass(frozen=True)
class Roots:
    """Which modules are copied and instrumented.

    Attributes:
        packages: each with all that is below, but for modules that are tied to parts in C; a dotted name leaves what is
            above and beside it to the process.
        folder: every top-level module that lies in this folder; ``None`` if there is none.
    """

    packages: frozenset[str] = frozenset()
    folder: Path | None = None

    def contain(self, name: str) -> bool:
        """Whether the module called ``name`` is one of them."""
        return name not in SHARED_MODULES and self._cover(name) and not self.is_tied_to_c(name)

    def is_tied_to_c(self, name: str) -> bool:
        """Whether a module below the roots stays with the parts of its package that are in C."""
        if not self._cover(name) or name in self.packages:
            return False
        units = {name.partition(".")[0], *(root for root in self.packages if name.startswith(f"{root}."))}
        return any(name in tied_to_c(unit) for unit in units)

    @functools.cached_property
    def _tops(self) -> frozenset[str]:
        """The top-level packages: each sandbox asks about all modules of the process, few of which lie below these."""
        return frozenset(root.partition(".")[0] for root in self.packages)

    def _cover(self, name: str) -> bool:
        top = name.partition(".")[0]
        if top in self._tops and any(name == root or name.startswith(f"{root}.") for root in self.packages):
            return True
        return self.folder is not None and top not in sys.stdlib_module_names and _lies_in(str(self.folder), top)


@dataclass(frozen=True)
class Seen:
    """What the explorer sees of the code under test.

    Attributes:
        instrumented: the modules that are rewritten: each access is seen.
        virtual: the packages that are copied as they are: their locks and threads are seen, and nothing else.
        opaque: further packages that are reached, shared with the process: nothing of them is seen.
        native: those of them, and modules below the roots, that have no Python source, or parts without.
    """

    instrumented: tuple[str, ...] = ()
    virtual: tuple[str, ...] = ()
    opaque: tuple[str, ...] = ()
    native: tuple[str, ...] = ()


@functools.cache
def _lies_in(folder: str, name: str) -> bool:
    return importlib.machinery.PathFinder.find_spec(name, [folder]) is not None
