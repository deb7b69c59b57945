"""Guess at a target's type from its source, for command lines without ``--type``; nothing of the target is run."""

from __future__ import annotations

import ast
import functools
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from .suite_options import DEFAULT_TYPE

TEST = "test"


def guessed_type(spec: str) -> str:
    """The name of a target type: ``test`` for a function without parameters or a method of a class, else the default.

    Args:
        spec: ``package.module:name`` or ``path/to/file.py:name``.
    """
    location, _, name = spec.rpartition(":")
    file = location if location.endswith(".py") else _file_of(location)
    if file is None or not os.path.isfile(file):
        return DEFAULT_TYPE
    try:
        body: list[ast.stmt] = ast.parse(Path(file).read_bytes()).body
    except (SyntaxError, ValueError, OSError):
        return DEFAULT_TYPE
    found: ast.stmt | None = None
    for part in name.split("."):
        found = next((node for node in body if getattr(node, "name", None) == part), None)
        body = found.body if isinstance(found, ast.ClassDef) else []
    if not isinstance(found, ast.FunctionDef):
        return DEFAULT_TYPE
    given = found.args
    required = len(given.posonlyargs) + len(given.args) - len(given.defaults) - ("." in name)
    takes_nothing = required <= 0 and given.vararg is None and all(given.kw_defaults)
    return TEST if takes_nothing else DEFAULT_TYPE


def _file_of(module: str) -> str | None:
    """The file of a module, found without importing what it is in."""

    def step(found: tuple[ModuleSpec | None, list[str]], part: str) -> tuple[ModuleSpec | None, list[str]]:
        spec = PathFinder.find_spec(part, found[1]) if found[1] else None
        return spec, list(spec.submodule_search_locations or ()) if spec is not None else []

    start: tuple[ModuleSpec | None, list[str]] = None, [os.getcwd(), *sys.path]
    try:
        spec, _ = functools.reduce(step, module.split("."), start)
    except (ImportError, ValueError):
        return None
    return None if spec is None else spec.origin
