"""Type of a target named on a command line or in a file: as the user states it, or guessed from the source."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from kcache_model.errors import TargetError
from kcache_model.target_name import target_name
from kcache_stress.loading import TARGET_PREFIX, load_object

from ..isolation import STARTUP_SECONDS, run_job
from ..phases.suite_options import DEFAULT_TYPE
from ..targets.class_names import CLASS, class_type_name
from ..targets.source_definitions import Home, definition, names_of, statements
from ..targets.target_type import TargetType
from ..targets.target_types import target_type_named

if TYPE_CHECKING:
    from ..isolation.worker import Outlet

TEST: Final = "test"
_MARK: Final = "interleaved"
_MACHINES: Final = ("Machine", "machine_of")
"""Names that machines are derived from or created by."""
_OF_INDEXERS: Final = ("get_by_key", "list_keys", "index_keys", "by_index", "list_index_func_values", "get_indexers")
"""Methods of Indexers that few other classes have."""
_PATIENCE_SECONDS: Final = 30.0
"""Seconds for the import of a target."""
_MOST_BASES: Final = 20
_MOST_NAMES: Final = 20
"""The most names of a file in a message."""


def type_of_target(
    spec: str | None, said: str | None, model: str | None = None, leave_out: Sequence[str] = ()
) -> TargetType:
    """Return the type of a target. The type of a class includes its model.

    Args:
        spec: the target; ``None`` for kcache's own.
        said: the name of its type, ``class`` for any class; ``None`` if the user states none.
        model: the model that a class is compared with; ``None`` if the user states none.
        leave_out: the methods of a class that are never called.

    Raises:
        TargetError: there is no such type, it cannot be created, or the target is not a class that can be compared.
    """
    if spec and ":" not in spec:
        _require_name(spec)
    name = said or (CLASS if model is not None else _guessed_target(spec) if spec else DEFAULT_TYPE)
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
    """Refuse a file or module without a name in it; the message lists its tests, or if it has none, its public names.

    Raises:
        TargetError: the place is a file or module with public names.
    """
    _, module = Home(place, None).read()
    own = [name for node in module for name in names_of(node) if not name.startswith("_")]
    classes = [node for node in module if isinstance(node, ast.ClassDef)]
    methods = [f"{kind.name}.{name}" for kind in classes for node in kind.body for name in names_of(node)]
    tests = [name for name in (*own, *methods) if name.rpartition(".")[2].startswith(TEST)]
    if own:
        names = ", ".join((tests or own)[:_MOST_NAMES])
        raise TargetError(f"{place} names no target; write {place}:NAME, with one of its names: {names}")


def guessed_type(spec: str) -> str:
    """Guess the name of a target type from the source: no code of the target runs in this process.

    ``test``: a function that pytest collects, a function marked ``interleaved``, and any other function or method that
    needs no arguments and returns nothing. ``class``: a machine; a class whose objects need no arguments; a class that
    takes ``*args``, or whose constructor is not in the source, without the methods that only an Indexer has; a class
    method, or a function that returns something, without arguments. Everything else has the default type. If the
    source is not sufficient, a child process loads the target.

    Args:
        spec: ``package.module:name`` or ``path/to/file.py:name``.
    """
    return _type_and_refusal(spec)[0]


def _guessed_target(spec: str) -> str:
    """Guess a type as in :func:`guessed_type`, and refuse anything that cannot be a target.

    Raises:
        TargetError: the name refers to an object, a module or a value.
    """
    name, refusal = _type_and_refusal(spec)
    if refusal:
        raise TargetError(refusal)
    return name


def _type_and_refusal(spec: str) -> tuple[str, str]:
    named = target_name(spec)
    if named.call:
        return CLASS, ""
    statement, home = definition(named.location, named.attribute)
    if isinstance(statement, ast.ClassDef):
        needs = _needs_arguments(statement, home)
        is_indexer = _is_indexer(statement, home) if needs is None else needs
        if is_indexer is not None:
            return DEFAULT_TYPE if is_indexer else CLASS, ""
    if isinstance(statement, (ast.Assign, ast.AnnAssign)) and _is_machine(statement.value):
        return CLASS, ""
    if isinstance(statement, ast.AsyncFunctionDef):
        return TEST, ""
    if isinstance(statement, ast.FunctionDef) and not _takes_anything(statement):
        return _type_of_function(statement, home, "." in named.attribute), ""
    return _type_of_loaded(spec)


def _is_machine(expression: ast.expr | None) -> bool:
    """Whether an expression is the base class of machines, or creates a machine from a class."""
    if expression is None:
        return False
    named = expression.func if isinstance(expression, ast.Call) else expression
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


def _takes_anything(function: ast.FunctionDef) -> bool:
    """Whether a function passes all its arguments on: its source does not show its result."""
    is_test = function.name.startswith(TEST) or any(_MARK in ast.unparse(one) for one in function.decorator_list)
    return function.args.vararg is not None and not _takes(function) and not is_test


def _gives(function: ast.FunctionDef) -> bool:
    """Whether a function returns something, as tests do not."""
    todo: list[ast.AST] = [*function.body]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Return) and node.value is not None:
            return True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            todo += ast.iter_child_nodes(node)
    return False


def _needs_arguments(kind: ast.ClassDef, home: Home) -> bool | None:
    """Whether objects of a class need arguments; ``None`` if the source does not show it."""
    for _ in range(_MOST_BASES):
        own = (node for node in kind.body if isinstance(node, ast.FunctionDef) and node.name in ("__init__", "__new__"))
        constructor = next(own, None)
        if constructor is not None:
            return None if _takes(constructor) <= 1 and constructor.args.vararg is not None else _takes(constructor) > 1
        if not kind.bases or [ast.unparse(base) for base in kind.bases] == ["object"]:
            return False
        base = kind.bases[0]
        if _is_machine(base):
            return False
        statement, home = definition(home.location, ast.unparse(base), home.folder)
        if not isinstance(statement, ast.ClassDef):
            is_machine = isinstance(statement, (ast.Assign, ast.AnnAssign)) and _is_machine(statement.value)
            return False if is_machine else None
        kind = statement
    return None


def _is_indexer(kind: ast.ClassDef, home: Home) -> bool | None:
    """Whether a class has a method that only an Indexer has, or ``__getattr__``; ``None`` if its source is missing."""
    todo = [(kind, home)]
    for kind, home in todo:
        if {name for node in statements(kind.body) for name in names_of(node)} & {*_OF_INDEXERS, "__getattr__"}:
            return True
        for base in map(ast.unparse, kind.bases):
            statement, origin = definition(home.location, base, home.folder)
            if isinstance(statement, ast.ClassDef) and len(todo) < _MOST_BASES:
                todo.append((statement, origin))
            elif not isinstance(getattr(builtins, base, None), type):  # those have no such method
                return None
    return False


def _type_of_loaded(spec: str) -> tuple[str, str]:
    """Return the type of a target loaded in a child process, and why it is no target; the default if loading fails."""
    answers: list[dict[str, Any]] = []
    run_job(
        f"{__name__}:look_job",
        {"spec": spec},
        on_event=answers.append,
        deadline_seconds=STARTUP_SECONDS,
        patience_seconds=_PATIENCE_SECONDS,
    )
    if not answers:
        return DEFAULT_TYPE, ""
    return CLASS if answers[0]["is_class"] else DEFAULT_TYPE, answers[0]["refusal"]


def look_job(outlet: Outlet, spec: str) -> None:
    """Send whether a name refers to a class that is not an Indexer, or why it is not a target; runs in the child.

    A function whose source does not show its result, such as ``threading.RLock``, is called, and its result is used.
    """
    with outlet.loading(spec):
        target = load_object(spec)
    kind = target if isinstance(target, type) else _kind_made_by(target)
    is_class = kind is not None and not any(hasattr(kind, name) for name in (*_OF_INDEXERS, "__getattr__"))
    refusal = "" if callable(target) else _refusal(spec, type(target))
    outlet.send({"event": "looked", "is_class": is_class, "refusal": refusal})


def _kind_made_by(function: Any) -> type | None:
    """Return the class of a function's result, called without arguments; ``None`` for a plain value or an error."""
    if not (inspect.isroutine(function) or isinstance(function, functools.partial)):
        return None
    try:
        kind = type(function())
    except (Exception, SystemExit):  # the run itself reports the error
        return None
    return None if kind.__module__ == "builtins" else kind


def _refusal(spec: str, kind: type) -> str:
    place = target_name(spec).location
    if issubclass(kind, ModuleType):
        return f"{spec} is a module. Name something in it: package.module:NAME"
    if kind.__module__ == "builtins":
        return (
            f"{spec} is a value, of the type {kind.__qualname__}. Name a class, "
            "a function that returns a new object, or a test"
        )
    owner = place if kind.__module__.startswith(TARGET_PREFIX) else kind.__module__
    return (
        f"{spec} is an object. Name its class, {owner}:{kind.__qualname__}, or a function without parameters that "
        "returns a new object"
    )


def _takes(function: ast.FunctionDef) -> float:
    """Return how many arguments a function needs, including ``self``; infinity if it needs keyword arguments."""
    parameters = function.args
    if not all(parameters.kw_defaults):
        return float("inf")
    return len(parameters.posonlyargs) + len(parameters.args) - len(parameters.defaults)
