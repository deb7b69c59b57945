"""Definitions of names in source files; they are read without importing or running anything."""

from __future__ import annotations

import ast
import contextlib
import os
from collections.abc import Iterator, Sequence
from importlib.util import resolve_name
from pathlib import Path
from typing import Final, NamedTuple

from kcache_stress.import_paths import file_of_module

_MOST_IMPORTS: Final = 5


class Home(NamedTuple):
    """A module.

    Attributes:
        location: its name or file.
        folder: the folder from which it imports; ``None`` for the current folder.
    """

    location: str
    folder: Path | None

    def read(self) -> tuple[str, list[ast.stmt]]:
        """Return its file and statements; empty if it has no Python source."""
        file = self.location if self.location.endswith(".py") else file_of_module(self.location, self.folder)
        if file is None or not os.path.isfile(file):
            return "", []
        try:
            return file, list(statements(ast.parse(Path(file).read_bytes()).body))
        except (SyntaxError, ValueError, OSError):
            return "", []

    @property
    def has_tests(self) -> bool:
        """Whether pytest collects tests from the module."""
        name = Path(self.location).stem if self.location.endswith(".py") else self.location.rpartition(".")[2]
        return name.startswith("test_") or name.endswith("_test")


def definition(location: str, name: str, folder: Path | None = None, depth: int = 0) -> tuple[ast.stmt | None, Home]:
    """Find the definition of a name that a module defines or imports; return the statement and its module.

    Args:
        location: the module to search, by name or file.
        name: the name, dotted if it is defined within a class.
        folder: the folder from which modules are found, if it is not the current folder.
        depth: the number of imports followed so far.
    """
    home = Home(location, Path(location).resolve().parent if location.endswith(".py") else folder)
    file, module = home.read()
    statement: ast.stmt | None = None
    body: list[ast.stmt] = module
    for part in name.split("."):
        statement = next((node for node in body if part in names_of(node)), None)
        body = list(statements(statement.body)) if isinstance(statement, ast.ClassDef) else []
    if statement is not None or depth == _MOST_IMPORTS:
        return statement, home
    package = location if file.endswith("__init__.py") else location.rpartition(".")[0]
    for elsewhere, there in _imported(module, name, "" if file == location else package):
        statement, origin = definition(elsewhere, there, home.folder, depth + 1)
        if statement is not None:
            return statement, origin
    return None, home


def _imported(module: list[ast.stmt], name: str, package: str) -> Iterator[tuple[str, str]]:
    """Yield the modules from which a name may be imported, and its name there."""
    first, dot, rest = name.partition(".")
    for node in module:
        if isinstance(node, ast.ImportFrom):
            origin = f"{'.' * node.level}{node.module or ''}"
            with contextlib.suppress(ImportError):
                origin = resolve_name(origin, package)
                for alias in node.names:
                    if alias.name == "*":
                        yield origin, name
                    elif first == (alias.asname or alias.name):
                        yield origin, f"{alias.name}{dot}{rest}"
                        if rest:  # it may be a module of the package
                            yield f"{origin}.{alias.name}", rest
        elif isinstance(node, ast.Import):
            for alias in node.names:
                called = alias.asname or alias.name
                if name.startswith(f"{called}."):
                    yield alias.name, name.removeprefix(f"{called}.")


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module or class, also those within ``if``, ``try`` and ``with``."""
    for node in body:
        yield node
        if isinstance(node, (ast.If, ast.Try, ast.With)):
            handlers = [line for handler in getattr(node, "handlers", ()) for line in handler.body]
            yield from statements([*node.body, *handlers, *getattr(node, "orelse", ())])


def names_of(node: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [target.id for target in targets if isinstance(target, ast.Name)]
    return [node.name] if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) else []
