"""The type of a target, on a command line or in a file: as it is said, or guessed from its source."""

from __future__ import annotations

import ast
import contextlib
import os
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path
from typing import Final, NamedTuple

from kcache_model.errors import TargetError
from kcache_model.target_name import target_name
from kcache_stress.import_paths import file_of_module

from .classes import CLASS, class_type_name
from .suite_options import DEFAULT_TYPE
from .target_type import TargetType
from .target_types import target_type_named

TEST: Final = "test"
_MARK: Final = "interleaved"
_MACHINES: Final = ("Machine", "machine_of")
"""What machines are derived from, or made by."""
_MOST_IMPORTS: Final = 5
_MOST_BASES: Final = 20
_MOST_NAMES: Final = 20
"""Of a file, that are told."""


class _Home(NamedTuple):
    """A module.

    Attributes:
        location: its name or file.
        folder: from which it imports; ``None`` for the current one.
    """

    location: str
    folder: Path | None

    def read(self) -> tuple[str, list[ast.stmt]]:
        """Its file, and its statements; nothing where there is none in Python."""
        file = self.location if self.location.endswith(".py") else file_of_module(self.location, self.folder)
        if file is None or not os.path.isfile(file):
            return "", []
        try:
            return file, ast.parse(Path(file).read_bytes()).body
        except (SyntaxError, ValueError, OSError):
            return "", []

    @property
    def has_tests(self) -> bool:
        """Whether pytest looks for tests there."""
        name = Path(self.location).stem if self.location.endswith(".py") else self.location.rpartition(".")[2]
        return name.startswith("test_") or name.endswith("_test")


def type_of_target(spec: str | None, said: str | None, model: str | None = None) -> TargetType:
    """The type of a target; of a class, with what it is compared with.

    Args:
        spec: the target; ``None`` for kcache's own.
        said: the name of its type, ``class`` for any class; ``None`` if nothing is said.
        model: what a class is compared with; ``None`` if nothing is said.

    Raises:
        TargetError: there is no such type, it cannot be made, or is no class that could be compared.
    """
    if spec and ":" not in spec:
        _require_name(spec)
    name = said or (CLASS if model is not None else guessed_type(spec) if spec else DEFAULT_TYPE)
    if model is not None and name != CLASS:
        raise TargetError(f"--spec is for --type {CLASS}, not for --type {name}")
    if name == CLASS:
        if not spec:
            raise TargetError(f"--type {CLASS} needs a TARGET: package.module:Class or path/to/file.py:Class")
        name = class_type_name(spec, model or "")
    return target_type_named(name)


def _require_name(place: str) -> None:
    """Refuses a file or module without a name in it, and says what there is: its tests, or all that has a name.

    Raises:
        TargetError: it is one.
    """
    _, module = _Home(place, None).read()
    own = [name for node in module for name in _names(node) if not name.startswith("_")]
    classes = [node for node in module if isinstance(node, ast.ClassDef)]
    methods = [f"{kind.name}.{name}" for kind in classes for node in kind.body for name in _names(node)]
    tests = [name for name in (*own, *methods) if name.rpartition(".")[2].startswith(TEST)]
    if own:
        told = ", ".join((tests or own)[:_MOST_NAMES])
        raise TargetError(f"{place} names no target; write {place}:NAME, with one of its names: {told}")


def guessed_type(spec: str) -> str:
    """The name of a target type, from the source: nothing of the target is run.

    It is ``test`` for what pytest takes for one, what is marked ``interleaved``, and for a function or a method that
    needs no arguments and gives nothing; ``class`` for a machine, for a class whose objects are made without arguments,
    and for a function or a class method that gives something without arguments; else the default.

    Args:
        spec: ``package.module:name`` or ``path/to/file.py:name``.
    """
    named = target_name(spec)
    if named.call:
        return CLASS
    found, home = _definition(named.location, named.attribute)
    if isinstance(found, ast.ClassDef):
        return CLASS if _is_made_of_nothing(found, home) else DEFAULT_TYPE
    if isinstance(found, ast.Assign):
        return CLASS if _is_machine(found.value) else DEFAULT_TYPE
    if isinstance(found, ast.FunctionDef):
        return _type_of_function(found, home, "." in named.attribute)
    return DEFAULT_TYPE


def _definition(location: str, name: str, folder: Path | None = None, depth: int = 0) -> tuple[ast.stmt | None, _Home]:
    """Where something is defined that a module defines or imports, and which module that is.

    Args:
        location: of the module that is asked, by name or file.
        name: what is looked for, dotted where it is within something.
        folder: from which modules are found, if it is not the current one.
        depth: how many imports have led there.
    """
    home = _Home(location, Path(location).resolve().parent if location.endswith(".py") else folder)
    file, module = home.read()
    found: ast.stmt | None = None
    body: list[ast.stmt] = module
    for part in name.split("."):
        found = next((node for node in body if part in _names(node)), None)
        body = found.body if isinstance(found, ast.ClassDef) else []
    if found is not None or depth == _MOST_IMPORTS:
        return found, home
    package = location if file.endswith("__init__.py") else location.rpartition(".")[0]
    for elsewhere, there in _imported(module, name, "" if file == location else package):
        found, origin = _definition(elsewhere, there, home.folder, depth + 1)
        if found is not None:
            return found, origin
    return None, home


def _imported(module: list[ast.stmt], name: str, package: str) -> Iterator[tuple[str, str]]:
    """From which modules a name may come, and what it is called there."""
    first, dot, rest = name.partition(".")
    for node in module:
        if isinstance(node, ast.ImportFrom):
            origin = f"{'.' * node.level}{node.module or ''}"
            for alias in node.names:
                if first == (alias.asname or alias.name):
                    with contextlib.suppress(ImportError):
                        yield resolve_name(origin, package), f"{alias.name}{dot}{rest}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                called = alias.asname or alias.name
                if name.startswith(f"{called}."):
                    yield alias.name, name.removeprefix(f"{called}.")


def _names(node: ast.stmt) -> list[str]:
    """What a statement defines."""
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [node.name] if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) else []


def _is_machine(made: ast.expr) -> bool:
    """Whether it is the base of machines, or makes one of a class."""
    named = made.func if isinstance(made, ast.Call) else made
    return ast.unparse(named).rpartition(".")[2] in _MACHINES


def _type_of_function(function: ast.FunctionDef, home: _Home, is_method: bool) -> str:
    decorators = [ast.unparse(decorator) for decorator in function.decorator_list]
    is_named = function.name.startswith(TEST)
    if any(_MARK in decorator for decorator in decorators) or (is_named and home.has_tests):
        return TEST
    is_of_object = is_method and "staticmethod" not in decorators
    if _takes(function) > is_of_object:
        return DEFAULT_TYPE
    makes = "classmethod" in decorators or (not is_of_object and _gives(function))
    return CLASS if makes and not is_named else TEST


def _gives(function: ast.FunctionDef) -> bool:
    """Whether it returns something, as tests do not."""
    todo: list[ast.AST] = [*function.body]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Return) and node.value is not None:
            return True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            todo += ast.iter_child_nodes(node)
    return False


def _is_made_of_nothing(kind: ast.ClassDef, home: _Home) -> bool:
    for _ in range(_MOST_BASES):
        own = (node for node in kind.body if isinstance(node, ast.FunctionDef) and node.name in ("__init__", "__new__"))
        made = next(own, None)
        if made is not None:
            return _takes(made) <= 1
        if not kind.bases or [ast.unparse(base) for base in kind.bases] == ["object"]:
            return True
        base = kind.bases[0]
        if _is_machine(base):
            return True
        found, home = _definition(home.location, ast.unparse(base), home.folder)
        if not isinstance(found, ast.ClassDef):
            return isinstance(found, ast.Assign) and _is_machine(found.value)
        kind = found
    return False


def _takes(function: ast.FunctionDef) -> float:
    """How many arguments a function needs, ``self`` included; any number if it takes whatever comes."""
    given = function.args
    if given.vararg is not None or not all(given.kw_defaults):
        return float("inf")
    return len(given.posonlyargs) + len(given.args) - len(given.defaults)
