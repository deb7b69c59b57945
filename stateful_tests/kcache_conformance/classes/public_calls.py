"""Public calls of a class: its methods, properties and blocks, and its operators."""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
import threading
import types
import typing
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from kcache_model.foreign import all_attributes
from kcache_model.object_types.method_call import IN_PLACE, OPERATORS, Form, MethodCall

_OF_CONTAINERS: Final = frozenset(
    {
        "__call__",
        "__getitem__",
        "__setitem__",
        "__delitem__",
        "__contains__",
        "__len__",
        "__iter__",
        "__next__",
        "__enter__",
    }
)
_OWN_OPERATORS: Final = frozenset({*OPERATORS, *IN_PLACE, "__reversed__"}) - _OF_CONTAINERS
"""Further operators, called only if the class itself defines them: those of containers take containers like themselves.

Comparisons are not called: they compare two objects, and a program has one. Nor are texts for people (``__repr__``,
``__str__``), which may show a state that never was.
"""
_OPERANDS: Final = dict.fromkeys(IN_PLACE, 1) | {
    name: code.count("{1}") + code.count("{2}") for name, code in OPERATORS.items() if name != "__call__"
}
"""Special method -> the number of arguments that its operator passes, whatever defaults the method declares."""
_ASYNC_OPERATORS: Final = frozenset({"__aenter__", "__aiter__", "__anext__", "__await__"})
_READS: Final = frozenset({"__len__", "__contains__", "__bool__"})
"""Methods that hardly ever change anything; :func:`~.probing.changing` finds out. Other reads often count something."""
_MIXINS: Final = frozenset({"_collections_abc", "collections.abc", "typing", "contextlib"})
"""Modules whose classes call methods of the class itself: several such calls in one method are a race of the class."""
_INHERITED_WEIGHT: Final = 0.1
_SCALARS: Final = (bool, int, float, str, type(None))
_CONTAINERS: Final = (list, dict, set, deque, bytearray, tuple, frozenset)
_CONTEXTLIB: Final = contextlib.contextmanager.__code__.co_filename


@dataclass(frozen=True)
class PublicCall:
    """A call that users of a class may make.

    name: the name of the call, see :class:`~kcache_model.object_types.method_call.Form`.
    form: how the call is written.
    parameters: the required parameters with their annotations, or texts if the annotations cannot be resolved;
        ``None`` if the method is written in C and does not reveal its parameters.
    optional: the parameters with a default, likewise.
    is_write: whether the call may change anything.
    weight: how often it is called, relative to other calls.
    is_async: whether the call is awaited.
    is_inherited: whether a base class of the standard library has it, while the class has calls of its own.
    of: the call on whose result it is made; ``None`` for an object of the class itself.
    after: the name of the call that a thread makes on this result before; empty if there is none.
    """

    name: str
    form: Form = Form.CALL
    parameters: tuple[inspect.Parameter, ...] | None = ()
    is_write: bool = True
    weight: float = 1.0
    is_inherited: bool = False
    is_async: bool = False
    optional: tuple[inspect.Parameter, ...] = ()
    of: MethodCall | None = None
    after: str = ""


def public_calls(kind: type, instance: object) -> list[PublicCall]:
    """Return the public calls of a class's objects.

    Static methods and class methods are not included: see :func:`class_calls`.

    Args:
        kind: the class.
        instance: one of its objects; its attributes are read without running any of its code.
    """
    calls: list[PublicCall] = []
    for name, declared in _members(kind):
        if name == "run" and issubclass(kind, threading.Thread):
            continue  # the work of the thread, which users do not call
        calls += _calls_of(kind, name, declared)
    calls = _own_first(kind, calls)
    known = {call.name for call in calls}
    calls += [
        PublicCall(name, Form.READ, is_write=False, weight=0.5) for name in _attributes(instance) if name not in known
    ]
    return calls


def _own_first(kind: type, calls: list[PublicCall]) -> list[PublicCall]:
    """Return the calls with inherited calls of the standard library at the end and with a low weight.

    A ``Thread`` has fifteen and a ``list`` twenty: the calls of the class itself would get no time.
    Calls of a container bypass each lock of the class, so no thread makes them: they come before the threads and after.
    """
    inherited = [call for call in calls if _is_inherited(kind, method_name(call.name))]
    own = [call for call in calls if call not in inherited]
    if not own or not inherited:
        return calls
    weighted = []
    for call in inherited:
        is_of_container = defining_class(kind, method_name(call.name)).__module__ in ("builtins", "collections")
        weighted.append(replace(call, weight=0.0 if is_of_container else _INHERITED_WEIGHT, is_inherited=True))
    return [*own, *weighted]


def defining_class(kind: type, name: str) -> type:
    """Return the class that defines a method of ``kind``: ``kind`` or one of its bases."""
    return next(base for base in kind.__mro__ if name in vars(base))


def _is_inherited(kind: type, name: str) -> bool:
    owner = defining_class(kind, name)
    module = owner.__module__.partition(".")[0]
    is_mixin = owner.__module__ in _MIXINS or (module == "collections" and owner.__name__.startswith("User"))
    is_of_library = kind.__module__.partition(".")[0] in sys.stdlib_module_names  # all of it is its own
    return module in sys.stdlib_module_names and not (is_mixin or is_of_library)


def class_calls(kind: type) -> list[PublicCall]:
    """Return the public class methods and static methods of a class. Most create an object, and share no state."""
    calls = []
    for name in sorted({name for base in kind.__mro__ for name in vars(base)}):
        owner = next(base for base in kind.__mro__ if name in vars(base))
        declared = vars(owner)[name]
        is_public = not name.startswith("_") and owner.__module__ == kind.__module__
        if is_public and isinstance(declared, (staticmethod, classmethod)) and not _is_async(declared.__func__):
            calls.append(PublicCall(name, Form.CALL, required_parameters(getattr(kind, name), is_bound=True)))
    return calls


def method_name(text: str) -> str:
    """Return the method name of a call or of an omitted method: ``size`` of ``size.set`` and ``size (reason)``."""
    return re.split(r"[ (.]", text)[0]


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public members as their classes declare them, sorted by name, without the members of ``object``."""
    for name in sorted({name for base in kind.__mro__ for name in vars(base)}):
        owner = next(base for base in kind.__mro__ if name in vars(base))
        is_own = owner.__module__.partition(".")[0] not in sys.stdlib_module_names
        is_operator = name in _OF_CONTAINERS or name in _ASYNC_OPERATORS or (name in _OWN_OPERATORS and is_own)
        is_public = not name.startswith("_") or is_operator
        declared = vars(owner)[name]
        is_of_object = declared is not None and not isinstance(declared, (staticmethod, classmethod, type))
        if is_public and is_of_object and owner is not object:
            yield name, declared


def async_methods(kind: type) -> tuple[str, ...]:
    """Return the names of a class's public async methods. A class that has any is used in an event loop."""
    return tuple(name for name, declared in _members(kind) if _is_async(declared))


def _is_async(declared: Any) -> bool:
    function = inspect.unwrap(declared) if callable(declared) else declared
    return (
        any(inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one) for one in (declared, function))
        or getattr(declared, "__name__", "") in _ASYNC_OPERATORS
    )


def _calls_of(kind: type, name: str, declared: Any) -> Iterator[PublicCall]:
    if isinstance(declared, property):
        if declared.fget is not None:
            yield PublicCall(name, Form.READ, weight=0.5)
        if declared.fset is not None:
            yield PublicCall(f"{name}.set", Form.SET, _set_parameter(name, declared))
        return
    if not (inspect.isroutine(declared) and callable(declared)):  # a cached property is a routine to inspect
        is_descriptor = hasattr(type(declared), "__get__")
        if is_descriptor and not isinstance(declared, types.MemberDescriptorType):  # a slot is an attribute
            yield PublicCall(name, Form.READ, weight=0.5)
        elif is_descriptor and callable(getattr(kind, name, None)):
            yield PublicCall(name, Form.CALL, required_parameters(getattr(kind, name)))
        return
    known = _operands(name, _parameters(declared))
    parameters, optional = _required(known), _optional(known)
    is_async = _is_async(declared)
    if name in ("__enter__", "__aenter__") or _makes_context(declared):
        is_async = is_async or inspect.isasyncgenfunction(inspect.unwrap(declared))
        yield PublicCall(f"{name}.enter", Form.ENTER, parameters, optional=optional, is_async=is_async)
        yield PublicCall(f"{name}.exit", Form.EXIT, is_async=is_async)
    elif is_async:
        is_iterated = inspect.isasyncgenfunction(inspect.unwrap(declared)) or name == "__aiter__"
        if name != "__aiter__" or not any("__anext__" in vars(base) for base in kind.__mro__):
            form = Form.ITERATE if is_iterated else Form.CALL
            yield PublicCall(name, form, parameters, optional=optional, is_async=True)
    elif inspect.isgeneratorfunction(inspect.unwrap(declared)) or _starts_loop(kind, name):
        yield PublicCall(name, Form.ITERATE, parameters, optional=optional)
    else:
        yield PublicCall(name, Form.CALL, parameters, is_write=name not in _READS, optional=optional)


def _operands(name: str, parameters: list[inspect.Parameter] | None) -> list[inspect.Parameter] | None:
    """Return the parameters of a method; of an operator those that it passes, all of them required."""
    count = _OPERANDS.get(name)
    if count is None or parameters is None:
        return parameters
    return [one.replace(default=one.empty) for one in parameters[:count]]


def _starts_loop(kind: type, name: str) -> bool:
    """Whether a method returns the iterator of a loop over an object of the class."""
    return name == "__reversed__" or (name == "__iter__" and not _is_iterator(kind))


def _makes_context(function: Any) -> bool:
    """Whether ``contextlib.contextmanager`` created the function from a generator."""
    code = getattr(function, "__code__", None)
    is_wrapped = code is not None and code.co_filename == _CONTEXTLIB
    made_from = inspect.unwrap(function)
    return is_wrapped and (inspect.isgeneratorfunction(made_from) or inspect.isasyncgenfunction(made_from))


def _is_iterator(kind: type) -> bool:
    """Whether the class defines ``__next__``: each ``next()`` is a call then, and a loop over it is not."""
    return any("__next__" in vars(base) for base in kind.__mro__)


def _set_parameter(name: str, declared: property) -> tuple[inspect.Parameter, ...]:
    """Return the parameter of a property's setter, annotated as the setter or the getter."""
    setter = required_parameters(declared.fset) or ()
    annotation = setter[0].annotation if setter else inspect.Parameter.empty
    if annotation is inspect.Parameter.empty and declared.fget is not None:
        annotation = _hints(declared.fget).get("return", annotation)
    return (inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY, annotation=annotation),)


def required_parameters(
    function: Callable[..., Any] | None, *, is_bound: bool = False
) -> tuple[inspect.Parameter, ...] | None:
    """Return the required parameters of a method with their annotations; ``None`` if they are unknown."""
    return _required(_parameters(function, is_bound=is_bound))


def _required(parameters: Sequence[inspect.Parameter] | None) -> tuple[inspect.Parameter, ...] | None:
    if parameters is None:
        return None
    declared = [one for one in parameters if one.default is one.empty and one.kind is not inspect.Parameter.VAR_KEYWORD]
    required = tuple(one for one in declared if one.kind is not inspect.Parameter.VAR_POSITIONAL)
    return required or tuple(declared)  # ``add(*names)`` without any name would show nothing


def _optional(parameters: Sequence[inspect.Parameter] | None) -> tuple[inspect.Parameter, ...]:
    """Return the parameters that have a default and may be passed by name."""
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return tuple(
        one
        for one in parameters or ()
        if one.default is not one.empty and one.kind in by_name and not one.name.startswith("_")
    )


def _parameters(function: Callable[..., Any] | None, *, is_bound: bool = False) -> list[inspect.Parameter] | None:
    """Return the parameters of a method with their annotations; ``None`` if they are unknown."""
    if function is None:
        return None
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    hints = _hints(function)
    return [
        parameter.replace(annotation=hints.get(parameter.name, parameter.annotation))
        for parameter in list(signature.parameters.values())[0 if is_bound else 1 :]
    ]


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function that can be resolved; others have names that only a type checker knows."""
    with contextlib.suppress(Exception):
        return typing.get_type_hints(function)
    hints: dict[str, Any] = {}
    for name, annotation in getattr(function, "__annotations__", {}).items():
        alone: Any = types.SimpleNamespace(__annotations__={name: annotation})
        with contextlib.suppress(Exception):
            hints |= typing.get_type_hints(alone, getattr(inspect.unwrap(function), "__globals__", {}))
    return hints


def unread_attributes(instance: object) -> dict[str, str]:
    """Return the names of an object's public attributes with containers, which calls may change, and their types."""
    return {
        name: type(value).__name__
        for name, value in sorted(all_attributes(instance).items())
        if isinstance(name, str) and not name.startswith("_") and type(value) in _CONTAINERS
    }


def _attributes(instance: object) -> list[str]:
    """Return the names of an object's public attributes with plain values, which users may read."""
    return sorted(
        name
        for name, value in all_attributes(instance).items()
        if isinstance(name, str) and not name.startswith("_") and issubclass(type(value), _SCALARS)
    )
