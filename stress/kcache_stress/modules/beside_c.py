"""Modules in Python of a package that has parts in C, too: most can be instrumented, some are tied to what is in C.

C is loaded once in a process, so the private copies of a package share it with the process. What is in C may import a
module of the package and keep its classes and functions: an exception that C raises is of the class of the process. So
modules that C imports are not copied, nor are those that these import: each class is there once.
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
"""Where names stand in these, nothing ends them: each module may be imported."""
_CYTHON: Final = b"__pyx"

MOST_PARTS: Final = 4
"""A package with more parts in C has its core there: copying the rest takes long, and shows little."""


@functools.cache
def tied_to_c(unit: str) -> frozenset[str]:
    """The modules of a package that its parts in C may import, and what those import; none without parts in C."""
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
    """The modules whose names a binary holds; that of Cython holds names without what ends them in C.

    Each word of the binary is looked at once: there may be hundreds of modules, and megabytes of words.
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
    """What a module imports, as far as its text says."""
    file = modules[name]
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            children = [f"{base}.{alias.name}" for alias in node.names]
            found = [child for child in children if child in modules]
            yield from found if len(found) == len(children) else [base, *found]


def looks_into(unit: str) -> bool:
    """Whether modules of a package with parts in C are instrumented although nobody has asked for it."""
    spec = find(unit)
    is_python = spec is not None and os.path.basename(spec.origin or "") == "__init__.py"
    return is_python and 0 < len(parts_in_c(unit)) <= MOST_PARTS and unit not in tied_to_c(unit)
