"""Private packages: packages that lock must run on the virtual threads even if they are not instrumented.

For a real lock, all virtual threads are one thread: it excludes none of them, or blocks them all. So each package that
locks, waits, starts threads or reads the clock is also copied, without instrumentation. The imports in the source of
all its modules decide whether a package is copied. A package is copied as a whole or not at all.
"""

from __future__ import annotations

import enum
import functools
import importlib.machinery
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Final

from kcache_model.errors import TargetError
from kcache_model.foreign import own_attributes

from ..knowledge.functions import modules
from ..runtime.threads.uncontrolled import ABSENT, STAND_INS, WHY

LIBRARY: Final = modules(lambda row: row.copied)
"""Modules of the standard library that are copied: they log, call back, or talk to other threads over sockets. Other
modules do not wait while they hold a lock, or are shared because all code exchanges objects of their classes."""

HARNESS: Final = frozenset(
    {"kcache", "kcache_model", "kcache_stress", "kcache_conformance", "greenlet", "_greenlet"}
    | {"pytest", "_pytest", "pluggy", "hypothesis", "_hypothesis_pytestplugin", "__main__"}
)
"""Packages that run the explorer: they are never copied."""

REAL_LOCKS: Final = (
    HARNESS | LIBRARY | STAND_INS | {"importlib", "_frozen_importlib", "_frozen_importlib_external", "concurrent"}
)
"""Packages whose locks stay real: code under test has copies of these packages, or may not use them."""

_EXCHANGED: Final = modules(lambda row: row.exchanged)
"""Packages that do not lock, and whose classes other packages compare by identity."""

_MIXED: Final = modules(lambda row: row.mixed)
"""Packages that are copied, but whose importers need not be: they may use only its functions for strings."""

_SEEDS: Final = modules(lambda row: row.waits) | (LIBRARY - _MIXED) | WHY.keys() | ABSENT
_NOT_COPIED: Final = frozenset(
    {"abc", "_collections_abc", "codecs", "encodings", "importlib", "io", "os", "posixpath", "ntpath", "genericpath"}
    | {"site", "sys", "types", "weakref", "_weakrefset", "functools", "contextlib", "queue", "time", "builtins"}
)
"""Modules of the standard library that every program shares, or that the runtime replaces."""
_IMPORT: Final = re.compile(
    rb"^[ \t]*(?:import[ \t]+([^#;\n]+)|from[ \t]+([\w.]+)[ \t]+import\b([^#;\n]*))", re.MULTILINE
)
_EXTENSIONS: Final = tuple(importlib.machinery.EXTENSION_SUFFIXES)
_NOT_REACHED: Final = frozenset({"tests", "test", "__pycache__"})


class Kind(enum.Enum):
    """Treatment of a package that is not instrumented."""

    VIRTUAL = "virtual"
    """A package that is copied without instrumentation and runs on the virtual threads."""
    PLAIN = "plain"
    """A package that is shared with the process: it does not lock."""
    NATIVE = "native"
    """A package that is shared with the process: it has no source, or parts in C, which cannot be loaded twice."""
    LIBRARY = "library"
    """A module of the standard library or the harness, shared with the process."""


def unit_of(name: str, is_root: Callable[[str], bool]) -> str | None:
    """Return the unit of a module: the package or module with one :class:`Kind`; ``None`` for roots and unknowns."""
    unit = ""
    for part in name.split("."):
        unit = f"{unit}.{part}" if unit else part
        if is_root(unit):
            return None
        if unit in HARNESS or unit in sys.stdlib_module_names:
            return unit
        spec = find(unit)
        if spec is None:
            return None
        if spec.origin is not None:
            return unit
    return None


def kind_of(unit: str, is_root: Callable[[str], bool]) -> Kind:
    """Return the kind of a unit, decided by its direct and indirect imports.

    Args:
        unit: a result of :func:`unit_of`.
        is_root: whether a module is instrumented. Imports of such a module do not count, but a unit that imports one
            is virtual.
    """
    kind = own_kind(unit)
    if kind is not Kind.PLAIN or unit in _EXCHANGED:
        return kind
    visited, todo = {unit}, [unit]
    while todo:
        for name in _imports(todo.pop(), is_root):
            if name in _SEEDS or (is_root(name) and name.partition(".")[0] != unit.partition(".")[0]):
                return Kind.VIRTUAL
            other = unit_of(name, is_root)
            if other is None or other in visited or other in _EXCHANGED | _MIXED:
                continue
            if own_kind(other) is Kind.PLAIN:
                visited.add(other)
                todo.append(other)
    return kind


def can_be_instrumented(module: str) -> bool:
    """Whether a module of the standard library can be instrumented to prove a program that runs its code."""
    top = module.partition(".")[0]
    if top not in sys.stdlib_module_names or top in _SEEDS | _NOT_COPIED | REAL_LOCKS | {"asyncio"}:
        return False  # the loops of an execution are built on the real asyncio
    spec = find(module)
    return spec is not None and (spec.origin or "").endswith(".py")


def find(name: str) -> importlib.machinery.ModuleSpec | None:
    """Return the spec of a module; ``None`` if there is none. This imports the parent package, if there is one."""
    try:
        return importlib.util.find_spec(name)
    except (ImportError, AttributeError):
        return None
    except ValueError:  # a loaded module without a spec; a package may replace itself by such a module
        parent = find(name.rpartition(".")[0]) if "." in name else None
        where = parent.submodule_search_locations if parent is not None else None
        spec = importlib.machinery.PathFinder.find_spec(name, where)
        file = own_attributes(sys.modules.get(name)).get("__file__")
        return spec if spec is not None and spec.origin == file else None


def folder_of(location: str) -> Path | None:
    """Return the folder whose top-level modules belong to the same program as a target; ``None`` if it is in a package.

    Args:
        location: the path of the target's file, or the name of its module.
    """
    if location.endswith(".py"):
        return Path(location).resolve().parent
    if "." in location or location in sys.builtin_module_names:
        return None
    spec = find(location)
    if spec is None or spec.origin is None or spec.submodule_search_locations is not None:
        return None
    folder = Path(spec.origin).parent
    return None if "site-packages" in folder.parts else folder


def existing(packages: Iterable[str]) -> tuple[str, ...]:
    """Return the packages, if each of them can be imported.

    Raises:
        TargetError: a package cannot be imported.
    """
    packages = tuple(packages)
    for package in packages:
        if find(package) is None:
            raise TargetError(f"there is no package {package} to instrument; it must be importable here")
    return packages


def own_kind(unit: str) -> Kind:
    """Return the kind of a unit without regard to its imports; never virtual."""
    if unit.partition(".")[0] in HARNESS or (unit in sys.stdlib_module_names and unit not in LIBRARY):
        return Kind.LIBRARY
    spec = find(unit)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py") or not os.path.isfile(spec.origin):
        return Kind.NATIVE
    return Kind.NATIVE if _in_c(spec.origin) else Kind.PLAIN


@functools.cache
def parts_in_c(unit: str) -> tuple[str, ...]:
    """Return the names of the files in C of a package in Python; empty for other packages.

    A package with such files is not instrumented as a whole.
    """
    spec = find(unit)
    return _in_c(spec.origin) if spec is not None and spec.origin is not None and spec.origin.endswith(".py") else ()


def _in_c(origin: str) -> tuple[str, ...]:
    return tuple(os.path.basename(file) for file in files_of(origin) if file.endswith(_EXTENSIONS))


def _imports(unit: str, is_root: Callable[[str], bool]) -> Iterator[str]:
    """Yield the names of the modules that a unit imports, without relative imports and imports of its root modules."""
    spec = find(unit)
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    for file in files_of(spec.origin):
        if not file.endswith(".py"):
            continue
        inner = Path(file).relative_to(folder).with_suffix("").parts if spec.submodule_search_locations else ()
        if not is_root(".".join((unit, *inner))):
            yield from imported_by(file)


@functools.cache
def files_of(origin: str) -> Collection[str]:
    """Return the Python and C files of a module; of the whole package if ``origin`` is an ``__init__.py``."""
    if os.path.basename(origin) != "__init__.py":
        return (origin,)
    paths: list[str] = []
    for folder, folders, files in os.walk(os.path.dirname(origin)):
        folders[:] = sorted(set(folders) - _NOT_REACHED)
        paths += (os.path.join(folder, file) for file in sorted(files) if file.endswith((".py", *_EXTENSIONS)))
    return paths


@functools.cache
def imported_by(file: str) -> frozenset[str]:
    """Return the names in the import statements of a file, at any depth; similar text in strings may add names."""
    imported: set[str] = set()
    for plain, source, parts in _IMPORT.findall(Path(file).read_bytes()):
        names = [part.split()[0] for part in (plain or parts).strip(b" ()\\").split(b",") if part.split()]
        if source:
            within = (source + b"." + name for name in names)
            names = [source, *(name for name in within if name.decode("utf-8", "replace") in _SEEDS)]
        imported.update(name.decode("utf-8", "replace") for name in names if not name.startswith(b"."))
    tops = {name: name.partition(".")[0] for name in imported}
    return frozenset(top if top in _SEEDS else name for name, top in tops.items())
