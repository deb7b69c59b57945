"""The function that is fuzzed."""

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
        kind: which of the two.
        name: how reports call it.
        spec: how another process loads it; ``None`` if it cannot.
    """

    function: Callable[[Any], Any]
    kind: Kind
    name: str
    spec: str | None = None

    @property
    def annotation(self) -> Any:
        """The type that the function says it takes; ``None`` if it does not say, or says nothing useful.

        Raises:
            SchemaError: it says one that is not to be found.
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
                f"{error}; say what the objects are with --object-type, --schema, --samples or --strategy"
            ) from error
        found = hints[parameter.name]
        return None if _is_vague(found) else found


def _inner(function: Any) -> Any:
    """What a partial or decorated function calls in the end."""
    inner = inspect.unwrap(function)
    if isinstance(inner, functools.partial):
        return _inner(inner.func)
    return inner if inspect.isroutine(inner) else type(inner).__call__


def _with_names_for_checkers(names: dict[str, Any]) -> dict[str, Any]:
    """The globals of a module, with what it imports under ``if TYPE_CHECKING:`` alone."""
    found = dict(names)
    with contextlib.suppress(KeyError, OSError, SyntaxError, TypeError):
        for block in ast.parse(inspect.getsource(sys.modules[names["__name__"]])).body:
            if isinstance(block, ast.If) and ast.unparse(block.test).endswith("TYPE_CHECKING"):
                for line in block.body:
                    if isinstance(line, ast.Import | ast.ImportFrom):
                        with contextlib.suppress(ImportError):
                            exec(compile(ast.Module([line], []), "<imports for type checkers>", "exec"), found)
    return found


def _is_vague(annotation: Any) -> bool:
    """Whether it leaves open what the objects look like, or says only what is needed of them."""
    origin = typing.get_origin(annotation)
    if isinstance(annotation, typing.TypeVar):
        return not annotation.__constraints__ and _is_vague(annotation.__bound__ or Any)
    if origin in (typing.Union, types.UnionType):
        return any(map(_is_vague, typing.get_args(annotation)))
    return annotation in _VAGUE or origin in _VAGUE or getattr(annotation, "_is_protocol", False)


def make_subject(function: object, kind: Kind, name: str | None = None, spec: str | None = None) -> Subject:
    """A subject from a function.

    Raises:
        TargetError: it cannot be called with one object.
    """
    shown = name or spec or str(getattr(function, "__qualname__", repr(function)))
    if not callable(function):
        raise TargetError(f"{shown} is {with_article(type(function).__name__)}; it must be a function of one object")
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        signature = inspect.signature(function)
        raise TargetError(f"{shown} takes {signature}; it is called with one object") from None
    except ValueError:
        pass  # a function of C has no signature
    return Subject(function, kind, shown, spec)


def load_subject(spec: str, kind: Kind) -> Subject:
    """The function called ``pkg.mod:name`` or ``path/to/file.py:name``.

    Raises:
        TargetError: there is no such function; the message says what to do.
    """
    found = load_object(spec, wanted="function")
    module = str(getattr(found, "__module__", None) or "").partition(".")[0]
    if inspect.isbuiltin(found) or module in sys.stdlib_module_names - {"functools"}:
        raise TargetError(f"{spec} belongs to Python itself; name a function of your own")
    return make_subject(found, kind, spec=spec)
