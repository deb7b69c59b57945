"""The hooks of calls: what a method of a container does to it, what a foreign function may do to its arguments."""

import contextlib
import copy
import functools
import heapq
import inspect
import json
import math
import operator
import pickle
import pprint
import types
import weakref
from collections.abc import Callable
from typing import Any, Final, cast

from .beneath import beneath, nested
from .names import HOOK_MARK
from .reporting import Accesses, slot_of
from .tables import (
    CONSUMES,
    CONTAINERS,
    DEFAULTS,
    IMMUTABLE,
    INDEXED,
    ITERATORS,
    KEYED,
    PLAIN,
    SILENT,
    VIEWS,
    WRITE,
    Methods,
    native_methods_of,
)

_SILENT: Final = frozenset(
    {isinstance, issubclass, callable, id, type, super, property, classmethod, staticmethod, hasattr}
    | {functools.partial, functools.wraps, functools.update_wrapper, weakref.ref, weakref.proxy, object}
)
_READERS: Final = frozenset(
    {len, list, dict, set, tuple, frozenset, sorted, sum, min, max, any, all, iter, next, enumerate, zip, map, filter}
    | {reversed, bool, repr, str, print, format, bytes, bytearray, memoryview, hash, ascii, functools.reduce}
    | {copy.copy, copy.deepcopy, json.dumps, json.dump, math.fsum, math.prod, heapq.nlargest, heapq.nsmallest}
    | {heapq.merge, contextlib.closing, contextlib.nullcontext}
    | {getattr(operator, name) for name in operator.__all__ if not name.startswith("i") or name in {"is_", "index"}}
) - {operator.setitem, operator.delitem}
_DEEP: Final = frozenset(
    {copy.deepcopy, json.dumps, json.dump, pickle.dumps, pickle.dump, pprint.pformat, pprint.pprint}
)
"""Those that look at all that is within their arguments, however deep."""
_DEEP_BUILTINS: Final = frozenset({print, format, ascii, repr})
_WRITERS: Final = frozenset({operator.setitem, operator.delitem})

_FOREIGN: Final = WRITE
_READING: Final = 0
_NOTHING: Final = 2


def _class_effect(kind: type, modules: set[str]) -> int:
    """Say what constructing an instance does to containers among the arguments."""
    if kind in _SILENT:
        return _NOTHING
    if kind in _READERS or kind in ITERATORS or kind in CONTAINERS:
        return _READING
    for owner in kind.__mro__:
        if "__init__" in owner.__dict__ or "__new__" in owner.__dict__:
            if owner.__module__ in modules:
                return _NOTHING
            maker = owner.__dict__.get("__init__", owner.__dict__.get("__new__"))
            if isinstance(maker, types.FunctionType):
                return _NOTHING if HOOK_MARK in maker.__globals__ else _FOREIGN
            # classes of C copy what they are given; `object` takes nothing
            return _READING
    return _NOTHING


def _instance_variables(item: object) -> dict[str, Any]:
    try:
        return cast(dict[str, Any], object.__getattribute__(item, "__dict__"))
    except AttributeError:
        return {}


def call_hooks(accesses: Accesses, modules: set[str]) -> dict[str, Callable[..., Any]]:
    """Make the hooks; `modules` are the names of the instrumented modules."""
    report, quiet, touch = accesses.report, accesses.quiet, accesses.touch
    known, learn, plain, foreign = accesses.methods.get, accesses.learn, PLAIN, accesses.foreign
    sequences = frozenset({tuple, list})
    module = types.ModuleType
    class_effects: dict[type, int] = {}
    natives: dict[type, Methods] = {}
    class_attributes: dict[type, dict[str, Any]] = {}
    function, bound, built_in = types.FunctionType, types.MethodType, types.BuiltinFunctionType
    wrapper, descriptors = types.MethodWrapperType, (types.MethodDescriptorType, types.WrapperDescriptorType)

    def perform(item: Any, access: int, arguments: tuple[object, ...]) -> None:
        """Report what a method of the container `item` does, as the table of its type says."""
        if access <= WRITE:
            report(item, None, access)
        elif access <= KEYED | WRITE:
            slot: object = None
            if arguments:
                slot = arguments[0] if type(arguments[0]) in plain else slot_of(arguments[0])
            report(item, slot, access & WRITE)
        elif not access & SILENT:
            perform_rarely(item, access, arguments)

    def perform_rarely(item: Any, access: int, arguments: tuple[object, ...]) -> None:
        if access & CONSUMES:
            for argument in arguments:
                if argument is not item:
                    touch(argument)
        slot: object = None
        if arguments and access & DEFAULTS:
            slot = slot_of(arguments[0])
            access |= arguments[0] not in item
        elif arguments and access & INDEXED and type(arguments[0]) is int:
            slot = arguments[0] if arguments[0] >= 0 else arguments[0] + len(item)
        report(item, slot, access & WRITE)

    def hand_over(arguments: tuple[object, ...], effect: int) -> None:
        """Report what a foreign function does to the containers among its arguments."""
        seen: list[object] = []
        for argument in arguments:
            kind = type(argument)
            if kind in quiet:
                continue
            found = [(argument, effect)] if known(kind) or learn(kind) else beneath(argument)
            for container, writes in found:
                if not any(container is other for other in seen):
                    seen.append(container)
                    report(container, None, writes)

    def look_through(arguments: tuple[object, ...]) -> None:
        for argument in arguments:
            if type(argument) not in plain:
                accesses.look_through(argument)

    def call(callee: Any, *arguments: Any) -> None:
        kind = type(callee)
        if kind is function:
            if HOOK_MARK not in callee.__globals__ and arguments:
                hand_over(arguments, _READING if callee in _READERS else _FOREIGN)
                if callee in _DEEP:
                    look_through(arguments)
        elif kind is bound:
            namespace = getattr(callee, "__globals__", None)
            owner = callee.__self__
            if namespace is None:
                call(callee.__func__, owner, *arguments)
            elif HOOK_MARK not in namespace and callee.__name__ in (known(type(owner)) or learn(type(owner))):
                report(owner, None, WRITE)
                for container in list(nested(owner)):
                    report(container, None, WRITE)
                if arguments:
                    hand_over(arguments, _FOREIGN)
            elif HOOK_MARK not in namespace and arguments:
                hand_over(arguments, _READING if callee in _READERS else _FOREIGN)
        elif kind is built_in or kind is wrapper:
            owner = callee.__self__
            # for `super().get(key)` too, which is the method of C although the class has one of its own
            methods = natives.get(type(owner))
            if methods is None:
                methods = natives[type(owner)] = native_methods_of(type(owner)) or {}
            name = callee.__name__
            if name in methods:
                perform(owner, methods[name], arguments)
                return
            if arguments and callee not in _SILENT:
                if callee is next:
                    _advance(arguments[0])
                reads = type(owner) in IMMUTABLE or callee in _READERS
                hand_over(arguments, _READING if reads and callee not in _WRITERS else _FOREIGN)
                if callee in _DEEP or callee in _DEEP_BUILTINS:
                    look_through(arguments)
        elif isinstance(callee, type):
            if arguments:
                effect = class_effects.get(callee)
                if effect is None:
                    effect = class_effects[callee] = _class_effect(callee, modules)
                if effect != _NOTHING:
                    hand_over(arguments, effect)
        elif kind in descriptors:
            if arguments:
                methods = known(type(arguments[0])) or learn(type(arguments[0]))
                table = accesses.methods.get(callee.__objclass__) or learn(callee.__objclass__)
                access = table.get(callee.__name__) if methods or table else None
                if access is not None:
                    perform(arguments[0], access, arguments[1:])
                else:
                    hand_over(arguments, _READING)
        elif kind is functools.partial:
            call(callee.func, *callee.args, *arguments, *callee.keywords.values())
        elif arguments:
            own = inspect.getattr_static(kind, "__call__", None)
            if not (isinstance(own, function) and HOOK_MARK in own.__globals__):
                readers = (operator.itemgetter, operator.attrgetter, operator.methodcaller)
                hand_over(arguments, _READING if kind in readers else _FOREIGN)

    def _advance(iterator: object) -> None:
        if type(iterator) in ITERATORS:
            report(iterator, None, 1)

    def look_up(item: Any, name: str) -> Any:
        """Find what `item.name` is without running code of the module under test; None if that cannot be told."""
        kind = type(item)
        if kind is types.ModuleType:
            return item.__dict__.get(name)
        if isinstance(item, type):
            found = inspect.getattr_static(item, name, None)
        else:
            attributes = class_attributes.setdefault(kind, {})
            if name not in attributes:
                attributes[name] = next((base.__dict__[name] for base in kind.__mro__ if name in base.__dict__), None)
            found = attributes[name]
            found = _instance_variables(item).get(name, found)
            if type(found) is types.MemberDescriptorType:
                return found.__get__(item, kind)
        return found.__func__ if type(found) in (staticmethod, classmethod) else found

    def method(item: Any, name: str, *arguments: Any) -> None:
        kind = type(item)
        methods = known(kind)
        if methods is None:
            methods = learn(kind)
        if name not in methods:
            other(item, name, arguments)
        else:
            perform(item, methods[name], arguments)

    def method1(item: Any, name: str, key: Any) -> None:
        """Do the same for the most frequent number of arguments."""
        methods = known(type(item))
        if methods is None or name not in methods:
            method(item, name, key)
            return
        access = methods[name]
        if access <= WRITE:
            report(item, None, access)
        elif access <= KEYED | WRITE:
            report(item, key if type(key) in plain else slot_of(key), access & WRITE)
        else:
            perform(item, access, (key,))

    def call1(callee: Any, argument: Any) -> None:
        """Call something with one argument: mostly there is nothing to report."""
        kind = type(callee)
        if kind is function:
            if type(argument) in quiet or HOOK_MARK in callee.__globals__:
                return
        elif type(argument) in quiet and (
            (kind is built_in and type(callee.__self__) is module)
            or (kind is bound and type(callee.__func__) is function)
            or kind is type
        ):
            return
        call(callee, argument)

    def other(item: Any, name: str, arguments: tuple[Any, ...]) -> None:
        """Handle a method call on something that is no container."""
        kind = type(item)
        if kind in VIEWS:
            touch(item)
            return
        if kind is types.GeneratorType:
            accesses.resume(item)
            return
        callee = look_up(item, name)
        if callee is None or isinstance(callee, property):
            return
        if type(callee) in descriptors and not isinstance(item, type):
            # a method of C: those of immutable types only read what they are given
            if kind in foreign:
                report(item, None, WRITE)
            hand_over(arguments, _READING if kind in IMMUTABLE else _FOREIGN)
        else:
            call(callee, *arguments)

    def unpacked(callee: Any, positional: Any, *keywords: Any) -> None:
        """Handle a call with star-arguments; an iterator must not be consumed before the call itself does it."""
        call(callee, *(positional if type(positional) in sequences else ()), *keywords)

    return {
        "_kc_method": method,
        "_kc_method1": method1,
        "_kc_call": call,
        "_kc_call1": call1,
        "_kc_unpacked": unpacked,
    }
