"""Vocabulary of a class, from the signatures of its methods."""

from __future__ import annotations

import contextlib
import inspect
import types
import typing
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kcache_model.errors import TargetError
from kcache_model.object_types.plain import MethodCall
from kcache_model.object_types.vocabulary import OperationTemplate

_OPERATORS: Final = ("__getitem__", "__setitem__", "__delitem__", "__contains__", "__len__")
_READS: Final = frozenset({"__len__", "__contains__"})
"""Methods that change nothing, whatever the class; others may: a cache counts what is asked for."""

_VALUES: Final[dict[Any, Sequence[Any]]] = {
    int: (1, 2, 1, 2, 3),
    float: (0.5, 2.0),
    bool: (False, True),
    str: ("a", "b", "a", "b", "c"),
    type(None): (None,),
}
_FEW: Final = 2
"""Values of each argument in small-scope verification; a third one is tried now and then."""
_KEY_NAMES: Final = frozenset({"key", "k", "name", "id", "topic", "event", "item_id", "key_name"})
_UNKNOWN: Final = frozenset({Any, object, Hashable, inspect.Parameter.empty})
_SCALARS: Final = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class ClassVocabulary:
    """What can be called of a class.

    Attributes:
        templates: the methods whose arguments can be made up, and public attributes that hold plain values.
        left_out: the methods that need something else, each with the parameter that does: ``subscribe(callback)``, and
            its annotation where that cannot be looked up: ``put(item: 'Item')``; or why its class cannot be made.
    """

    templates: tuple[OperationTemplate, ...]
    left_out: tuple[str, ...]


def vocabulary_of(kind: type, made: object) -> ClassVocabulary:
    """The public methods of a class, and the operators of containers.

    Args:
        kind: the class.
        made: one of its objects, whose attributes are looked at.
    """
    templates: list[OperationTemplate] = []
    left_out: list[str] = []
    for name, function in _methods(kind):
        arguments: list[Sequence[Any]] = []
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            left_out.append(f"{name} (async)")
            continue
        needs = ""
        for parameter in required_parameters(function):
            try:
                values, reason = _values(parameter), ""
            except TargetError as error:
                values, reason = (), f": {error}"
            if not values:
                needs = str(parameter) if isinstance(parameter.annotation, str) else f"{parameter.name}{reason}"
                break
            arguments.append(values)
        if needs:
            left_out.append(f"{name}({needs})")
        else:
            templates.append(_method(name, arguments))
    known = {template.name for template in templates}
    templates += [_attribute(name) for name in _attributes(made) if name not in known]
    return ClassVocabulary(tuple(templates), tuple(left_out))


def _method(name: str, arguments: Sequence[Sequence[Any]]) -> OperationTemplate:
    return OperationTemplate(
        name,
        lambda _number, *values: MethodCall(name, values, name not in _READS),
        tuple(arguments),
        small=tuple(values[:_FEW] for values in arguments),
    )


def _attribute(name: str) -> OperationTemplate:
    return OperationTemplate(name, lambda _number: MethodCall(name, (), is_write=False, is_attribute=True), weight=0.5)


def _methods(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, found in inspect.getmembers(kind):
        is_public = not name.startswith("_") or name in _OPERATORS
        owner = next((base for base in kind.__mro__ if name in vars(base)), object)
        is_method = inspect.isroutine(found) and callable(found)  # a cached property is a routine to inspect
        if is_public and owner is not object and is_method and not _is_of_class(owner, name):
            yield name, found


def _is_of_class(owner: type, name: str) -> bool:
    """Whether a method is called of the class, not of an object: those make objects, as a rule."""
    return isinstance(vars(owner)[name], (staticmethod, classmethod))


def required_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a method that must be given, with their annotations: texts where these cannot be looked up."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    hints = _hints(function)
    given = list(signature.parameters.values())[1:]
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        parameter.replace(annotation=hints.get(parameter.name, parameter.annotation))
        for parameter in given
        if parameter.default is parameter.empty and parameter.kind not in variadic
    ]


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function that can be looked up; others have names that only a type checker knows."""
    with contextlib.suppress(Exception):
        return typing.get_type_hints(function)
    hints: dict[str, Any] = {}
    for name, annotation in getattr(function, "__annotations__", {}).items():
        alone: Any = types.SimpleNamespace(__annotations__={name: annotation})
        with contextlib.suppress(Exception):
            hints |= typing.get_type_hints(alone, getattr(inspect.unwrap(function), "__globals__", {}))
    return hints


def _values(parameter: inspect.Parameter) -> Sequence[Any]:
    """Values to try for a parameter; none if nobody knows.

    Raises:
        TargetError: its class cannot be made; says why.
    """
    annotation = parameter.annotation
    if parameter.kind is parameter.KEYWORD_ONLY or isinstance(annotation, str):
        return ()
    if annotation in _UNKNOWN or isinstance(annotation, typing.TypeVar):
        return _VALUES[str] if parameter.name in _KEY_NAMES else _VALUES[int]
    if isinstance(annotation, type) and annotation in _VALUES:
        return _VALUES[annotation]
    from .made_arguments import values_of  # of the fuzzer, which few classes need

    return values_of(annotation)


def _attributes(made: object) -> list[str]:
    """The public attributes of an object that hold plain values: whoever uses it may read them."""
    with contextlib.suppress(TypeError):
        return sorted(
            name for name, value in vars(made).items() if not name.startswith("_") and isinstance(value, _SCALARS)
        )
    return []
