"""Callees of a call in the source, found without running code of the target."""

from __future__ import annotations

import builtins
import functools
from types import CodeType, FrameType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, Final

from kcache_model.foreign import class_attribute, is_a, is_any, own_attributes

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
    return class_attribute(type(item), name)


def calls_code(callee: object, code: CodeType) -> bool:
    """Whether calling `callee` runs `code`, with nothing in between that has a state of its own."""
    for _ in range(_MOST_WRAPPERS):
        wrapped: Any = callee
        if is_a(callee, FunctionType):
            return callee.__code__ is code
        if is_any(callee, (MethodType, staticmethod, classmethod)):
            callee = wrapped.__func__
        elif is_a(callee, functools.partial):
            callee = callee.func
        elif is_a(callee, type):
            made = (class_attribute(callee, name) for name in ("__init__", "__new__"))
            return any(is_any(one, (FunctionType, staticmethod)) and calls_code(one, code) for one in made)
        else:
            callee = special_method(callee, "__call__")
            if not is_a(callee, FunctionType):
                return False
    return False


def _attribute(item: Any, name: str) -> object:
    if is_a(item, ModuleType):
        return own_attributes(item).get(name)
    if is_a(item, type):
        return class_attribute(item, name)
    found = class_attribute(type(item), name)
    if is_a(found, MemberDescriptorType):
        try:
            return found.__get__(item)
        except AttributeError:
            return None
    if is_any(found, (property, functools.cached_property)):
        return None
    return own_attributes(item).get(name, found)
