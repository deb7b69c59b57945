"""Python modules of packages that also have parts in C: most can be instrumented, but some are tied to the parts in C.

An extension module is loaded once in a process, so the private copies of a package share it with the process. It may
import a Python module of the package and keep its classes and functions: an exception that C raises is an instance of
the real class. So the modules that C imports, and the modules that these import, are not copied: each of their classes
exists once.
"""

from __future__ import annotations

import ast
import functools
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from .private_packages import files_of, find, parts_in_c

_UNREADABLE: Final = (b"rustc", b"pyo3")
"""Marks of binaries in which names have no terminator: names cannot be searched, so each module counts as imported."""
_CYTHON: Final = b"__pyx"

MOST_PARTS: Final = 4
"""If a package has more parts in C, its core is in C: instrumenting the rest takes long and reveals little."""


@functools.cache
def tied_to_c(unit: str) -> frozenset[str]:
    """Return the modules of a package that its parts in C may import, directly or indirectly; empty without such parts.

    If the package module itself is one of them, return all of its modules.
    """
    spec = find(unit) if parts_in_c(unit) else None
    if spec is None or spec.origin is None:
        return frozenset()
    files = files_of(spec.origin)
    folder = Path(spec.origin).parent
    modules = {_name(unit, folder, Path(file)): Path(file) for file in files if file.endswith(".py")}
    tied = set[str]()
    for file in files:
        if not file.endswith(".py"):
            tied |= _named(Path(file).read_bytes(), modules)
    todo = list(tied)
    while todo:
        more = modules.keys() & {*_imported(todo.pop(), modules)} - tied
        tied |= more
        todo += more
    return frozenset(modules) if unit in tied else frozenset(tied)


def _name(unit: str, folder: Path, file: Path) -> str:
    parts = file.relative_to(folder).with_suffix("").parts
    return ".".join((unit, *(parts[:-1] if parts[-1] == "__init__" else parts)))


def _named(binary: bytes, modules: Iterable[str]) -> set[str]:
    """Return the modules whose names a binary contains. In binaries of Cython, names have no terminator.

    The binary is searched once for all modules: there may be hundreds of modules, and megabytes of words.
    """
    if any(mark in binary for mark in _UNREADABLE):
        return set(modules)
    parts = set(re.findall(rb"\w+" if _CYTHON in binary else rb"(?<=[\0.])\w+(?=[\0.])", binary))
    # Followed by a dot, the name of a package begins the names of all its types and modules.
    packages = set(re.findall(rb"(?<=\0)\w+(?=\0)", binary))
    return {
        module
        for module in modules
        for above, _, last in [module.rpartition(".")]
        if last.encode() in (parts if above else packages)
    }


def _imported(name: str, modules: dict[str, Path]) -> Iterator[str]:
    """Yield the names that the import statements of a module import."""
    file = modules[name]
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            children = [f"{base}.{alias.name}" for alias in node.names]
            submodules = [child for child in children if child in modules]
            yield from submodules if len(submodules) == len(children) else [base, *submodules]


def looks_into(unit: str) -> bool:
    """Whether the Python modules of a package with parts in C are instrumented by default."""
    spec = find(unit)
    is_python = spec is not None and os.path.basename(spec.origin or "") == "__init__.py"
    return is_python and 0 < len(parts_in_c(unit)) <= MOST_PARTS and unit not in tied_to_c(unit)
