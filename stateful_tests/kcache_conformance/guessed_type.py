"""The type of a target, on a command line or in a file: as it is said, or guessed from its source."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from kcache_model.errors import TargetError
from kcache_model.target_name import target_name

from .classes import CLASS, class_type_name
from .source_definitions import Home, definition, names_of
from .suite_options import DEFAULT_TYPE
from .target_type import TargetType
from .target_types import target_type_named

TEST: Final = "test"
_MARK: Final = "interleaved"
_MACHINES: Final = ("Machine", "machine_of")
"""What machines are derived from, or made by."""
_MOST_BASES: Final = 20
_MOST_NAMES: Final = 20
"""Of a file, that are told."""


def type_of_target(
    spec: str | None, said: str | None, model: str | None = None, leave_out: Sequence[str] = ()
) -> TargetType:
    """The type of a target; of a class, with what it is compared with.

    Args:
        spec: the target; ``None`` for kcache's own.
        said: the name of its type, ``class`` for any class; ``None`` if nothing is said.
        model: what a class is compared with; ``None`` if nothing is said.
        leave_out: the methods of a class that are never called.

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
        name = class_type_name(spec, model or "", leave_out)
    elif leave_out:
        raise TargetError(f"--leave-out is for --type {CLASS}, not for --type {name}")
    return target_type_named(name)


def _require_name(place: str) -> None:
    """Refuses a file or module without a name in it, and says what there is: its tests, or all that has a name.

    Raises:
        TargetError: it is one.
    """
    _, module = Home(place, None).read()
    own = [name for node in module for name in names_of(node) if not name.startswith("_")]
    classes = [node for node in module if isinstance(node, ast.ClassDef)]
    methods = [f"{kind.name}.{name}" for kind in classes for node in kind.body for name in names_of(node)]
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
    found, home = definition(named.location, named.attribute)
    if isinstance(found, ast.ClassDef):
        return CLASS if _is_made_of_nothing(found, home) else DEFAULT_TYPE
    if isinstance(found, (ast.Assign, ast.AnnAssign)):
        return CLASS if _is_machine(found.value) else DEFAULT_TYPE
    if isinstance(found, ast.FunctionDef):
        return _type_of_function(found, home, "." in named.attribute)
    return DEFAULT_TYPE


def _is_machine(made: ast.expr | None) -> bool:
    """Whether it is the base of machines, or makes one of a class."""
    if made is None:
        return False
    named = made.func if isinstance(made, ast.Call) else made
    return ast.unparse(named).rpartition(".")[2] in _MACHINES


def _type_of_function(function: ast.FunctionDef, home: Home, is_method: bool) -> str:
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


def _is_made_of_nothing(kind: ast.ClassDef, home: Home) -> bool:
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
        found, home = definition(home.location, ast.unparse(base), home.folder)
        if not isinstance(found, ast.ClassDef):
            return isinstance(found, (ast.Assign, ast.AnnAssign)) and _is_machine(found.value)
        kind = found
    return False


def _takes(function: ast.FunctionDef) -> float:
    """How many arguments a function needs, ``self`` included; any number if it takes whatever comes."""
    given = function.args
    if given.vararg is not None or not all(given.kw_defaults):
        return float("inf")
    return len(given.posonlyargs) + len(given.args) - len(given.defaults)
