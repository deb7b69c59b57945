"""The type of a target, on a command line or in a file: as it is said, or guessed from its source."""

from __future__ import annotations

import ast
import os
from importlib.util import resolve_name
from pathlib import Path
from typing import Final

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


def type_of_target(spec: str | None, said: str | None, model: str | None = None) -> TargetType:
    """The type of a target; of a class, with what it is compared with.

    Args:
        spec: the target; ``None`` for kcache's own.
        said: the name of its type, ``class`` for any class; ``None`` if nothing is said.
        model: what a class is compared with; ``None`` if nothing is said.

    Raises:
        TargetError: there is no such type, it cannot be made, or is no class that could be compared.
    """
    name = said or (CLASS if model is not None else guessed_type(spec) if spec else DEFAULT_TYPE)
    if model is not None and name != CLASS:
        raise TargetError(f"--spec is for --type {CLASS}, not for --type {name}")
    if name == CLASS:
        if not spec:
            raise TargetError(f"--type {CLASS} needs a TARGET: package.module:Class or path/to/file.py:Class")
        name = class_type_name(spec, model or "")
    return target_type_named(name)


def guessed_type(spec: str) -> str:
    """The name of a target type, from the source: nothing of the target is run.

    It is ``test`` for a function without parameters, a method, or what is marked ``interleaved``; ``class`` for a class
    whose objects are made without arguments, as far as its module tells, and for a machine; else the default.

    Args:
        spec: ``package.module:name`` or ``path/to/file.py:name``.
    """
    named = target_name(spec)
    if named.call:
        return CLASS
    found, module = _definition(named.location, named.attribute)
    if isinstance(found, ast.ClassDef):
        return CLASS if _is_made_of_nothing(found, module) else DEFAULT_TYPE
    if isinstance(found, ast.Assign):
        return CLASS if _is_machine(found.value) else DEFAULT_TYPE
    return TEST if isinstance(found, ast.FunctionDef) and _is_test(found, named.attribute) else DEFAULT_TYPE


def _definition(location: str, name: str, depth: int = 0) -> tuple[ast.stmt | None, list[ast.stmt]]:
    """Where something is defined that a module defines or imports, and the statements of that module."""
    file = location if location.endswith(".py") else file_of_module(location)
    if file is None or not os.path.isfile(file):
        return None, []
    try:
        module = ast.parse(Path(file).read_bytes()).body
    except (SyntaxError, ValueError, OSError):
        return None, []
    found: ast.stmt | None = None
    body: list[ast.stmt] = module
    for part in name.split("."):
        found = next((node for node in body if part in _names(node)), None)
        body = found.body if isinstance(found, ast.ClassDef) else []
    first, dot, rest = name.partition(".")
    imports = (node for node in module if isinstance(node, ast.ImportFrom))
    origin = next(((node, of) for node in imports for of in node.names if first == (of.asname or of.name)), None)
    if found is not None or origin is None or depth == _MOST_IMPORTS or location.endswith(".py"):
        return found, module
    node, alias = origin
    package = location if file.endswith("__init__.py") else location.rpartition(".")[0]
    try:
        elsewhere = resolve_name(f"{'.' * node.level}{node.module or ''}", package)
    except ImportError:
        return None, module
    return _definition(elsewhere, f"{alias.name}{dot}{rest}", depth + 1)


def _names(node: ast.stmt) -> list[str]:
    """What a statement defines."""
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [node.name] if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) else []


def _is_machine(made: ast.expr) -> bool:
    """Whether it is the base of machines, or makes one of a class."""
    named = made.func if isinstance(made, ast.Call) else made
    return ast.unparse(named).rpartition(".")[2] in _MACHINES


def _is_test(function: ast.FunctionDef, name: str) -> bool:
    is_marked = any(_MARK in ast.unparse(decorator) for decorator in function.decorator_list)
    return is_marked or _takes(function) <= ("." in name)


def _is_made_of_nothing(kind: ast.ClassDef, module: list[ast.stmt]) -> bool:
    classes = {node.name: node for node in module if isinstance(node, ast.ClassDef)}
    for _ in range(len(classes) + 1):
        own = (node for node in kind.body if isinstance(node, ast.FunctionDef) and node.name in ("__init__", "__new__"))
        made = next(own, None)
        if made is not None:
            return _takes(made) <= 1
        if not kind.bases or [ast.unparse(base) for base in kind.bases] == ["object"]:
            return True
        base = kind.bases[0]
        if _is_machine(base):
            return True
        if not isinstance(base, ast.Name) or base.id not in classes:
            return False
        kind = classes[base.id]
    return False


def _takes(function: ast.FunctionDef) -> float:
    """How many arguments a function needs, ``self`` included; any number if it takes whatever comes."""
    given = function.args
    if given.vararg is not None or not all(given.kw_defaults):
        return float("inf")
    return len(given.posonlyargs) + len(given.args) - len(given.defaults)
