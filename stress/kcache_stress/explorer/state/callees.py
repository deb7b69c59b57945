"""Callees of a call in the source, found without running code of the target."""

from __future__ import annotations

import builtins
import functools
from types import CodeType, FrameType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, Final

from ..instrument.call_sites import Path

_MOST_WRAPPERS: Final = 10


def find_callee(path: Path, frame: FrameType) -> object:
    """What a name and attributes of it are in a frame; ``None`` if that cannot be told."""
    first = path[0]
    found: Any = None
    for names in (frame.f_locals, frame.f_globals, vars(builtins)):
        if first in names:
            found = names[first]
            break
    for name in path[1:]:
        found = _attribute(found, name)
    return found


def special_method(item: object, name: str) -> object:
    """The method that an operator or a statement calls; ``None`` if there is none."""
    return _of_class(type(item), name)


def calls_code(callee: object, code: CodeType) -> bool:
    """Whether calling `callee` runs `code`, with nothing in between that has a state of its own."""
    for _ in range(_MOST_WRAPPERS):
        if isinstance(callee, FunctionType):
            return callee.__code__ is code
        if isinstance(callee, (MethodType, staticmethod, classmethod)):
            callee = callee.__func__
        elif isinstance(callee, functools.partial):
            callee = callee.func
        elif isinstance(callee, type):
            made = (_of_class(callee, name) for name in ("__init__", "__new__"))
            return any(isinstance(one, (FunctionType, staticmethod)) and calls_code(one, code) for one in made)
        else:
            callee = special_method(callee, "__call__")
            if not isinstance(callee, FunctionType):
                return False
    return False


def _attribute(item: Any, name: str) -> object:
    if isinstance(item, ModuleType):
        return vars(item).get(name)
    if isinstance(item, type):
        return _of_class(item, name)
    found = _of_class(type(item), name)
    if isinstance(found, MemberDescriptorType):
        try:
            return found.__get__(item)
        except AttributeError:
            return None
    if isinstance(found, (property, functools.cached_property)):
        return None
    try:
        return object.__getattribute__(item, "__dict__").get(name, found)
    except AttributeError:
        return found


def _of_class(kind: type, name: str) -> object:
    return next((vars(owner)[name] for owner in kind.__mro__ if name in vars(owner)), None)
