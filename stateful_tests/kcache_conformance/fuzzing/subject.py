"""The fuzzed function."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import sys
import types
import typing
from collections import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kcache_model.errors import TargetError
from kcache_model.outcomes import with_article
from kcache_stress.loading import load_object

from .rules import Kind
from .schemas.schema import SchemaError

_VAGUE = (Any, object, inspect.Parameter.empty, dict, typing.Mapping, abc.Mapping)


@dataclass(frozen=True)
class Subject:
    """An index function or a key function.

    Attributes:
        function: takes one object.
        kind: index or key function.
        name: its name in reports.
        spec: the name by which another process can load it; ``None`` if no process can.
    """

    function: Callable[[Any], Any]
    kind: Kind
    name: str
    spec: str | None = None

    @property
    def annotation(self) -> Any:
        """The annotation of the function's parameter; ``None`` if there is none, or it is too vague.

        Raises:
            SchemaError: the annotation cannot be resolved.
        """
        try:
            parameter = next(iter(inspect.signature(self.function).parameters.values()))
        except (StopIteration, TypeError, ValueError):
            return None
        inner = _inner(self.function)
        holder = types.SimpleNamespace(
            __annotations__={parameter.name: parameter.annotation},
            __type_params__=getattr(inner, "__type_params__", ()),
        )
        names = getattr(inner, "__globals__", {})
        try:
            try:
                hints = typing.get_type_hints(holder, names, include_extras=True)
            except NameError:
                hints = typing.get_type_hints(holder, _with_names_for_checkers(names), include_extras=True)
        except Exception as error:
            raise SchemaError(
                f"parameter {parameter.name!r} has the annotation {parameter.annotation!r}, which cannot be resolved: "
                f"{error}; specify the objects with --object-type, --schema, --samples or --strategy"
            ) from error
        hint = hints[parameter.name]
        return None if _is_vague(hint) else hint


def _inner(function: Any) -> Any:
    """Return the innermost function of a partial or decorated function."""
    inner = inspect.unwrap(function)
    if isinstance(inner, functools.partial):
        return _inner(inner.func)
    return inner if inspect.isroutine(inner) else type(inner).__call__


def _with_names_for_checkers(names: dict[str, Any]) -> dict[str, Any]:
    """Return the globals of a module, with its imports under ``if TYPE_CHECKING:``."""
    namespace = dict(names)
    with contextlib.suppress(KeyError, OSError, SyntaxError, TypeError):
        for block in ast.parse(inspect.getsource(sys.modules[names["__name__"]])).body:
            if isinstance(block, ast.If) and ast.unparse(block.test).endswith("TYPE_CHECKING"):
                for line in block.body:
                    if isinstance(line, ast.Import | ast.ImportFrom):
                        with contextlib.suppress(ImportError):
                            exec(compile(ast.Module([line], []), "<imports for type checkers>", "exec"), namespace)
    return namespace


def _is_vague(annotation: Any) -> bool:
    """Whether an annotation leaves the fields of the objects open, such as ``Any``, or is a protocol."""
    origin = typing.get_origin(annotation)
    if isinstance(annotation, typing.TypeVar):
        return not annotation.__constraints__ and _is_vague(annotation.__bound__ or Any)
    if origin in (typing.Union, types.UnionType):
        return any(map(_is_vague, typing.get_args(annotation)))
    return annotation in _VAGUE or origin in _VAGUE or getattr(annotation, "_is_protocol", False)


def make_subject(function: object, kind: Kind, name: str | None = None, spec: str | None = None) -> Subject:
    """Create a subject from a function.

    Raises:
        TargetError: the function cannot be called with one object.
    """
    label = name or spec or str(getattr(function, "__qualname__", repr(function)))
    if not callable(function):
        raise TargetError(f"{label} is {with_article(type(function).__name__)}; it must be a function of one object")
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        signature = inspect.signature(function)
        raise TargetError(f"{label} takes {signature}; it must take one object") from None
    except ValueError:
        pass  # a function of C has no signature
    return Subject(function, kind, label, spec)


def load_subject(spec: str, kind: Kind) -> Subject:
    """Load the function ``pkg.mod:name`` or ``path/to/file.py:name``.

    Raises:
        TargetError: the function does not exist, or belongs to Python; the message says what to do.
    """
    function = load_object(spec, wanted="function")
    module = str(getattr(function, "__module__", None) or "").partition(".")[0]
    if inspect.isbuiltin(function) or module in sys.stdlib_module_names - {"functools"}:
        raise TargetError(f"{spec} is part of Python itself; name a function of your own")
    return make_subject(function, kind, spec=spec)
