"""Objects whose code is not instrumented: what their methods do to them cannot be seen."""

import contextvars
import datetime
import decimal
import enum
import functools
import operator
import re
import struct
import types
import weakref
from collections.abc import Callable
from typing import Any, Final

from .tables import CONTAINERS, IMMUTABLE, ITERATORS, VIEWS

_HARMLESS_MODULES: Final = frozenset({"_thread", "abc", "typing", "_abc", "greenlet", "_greenlet"})
_HARMLESS: Final[tuple[Any, ...]] = (
    *IMMUTABLE,
    *(type, BaseException, frozenset, memoryview, enum.Enum, types.ModuleType, types.FunctionType, types.MethodType),
    *(types.BuiltinFunctionType, types.MethodWrapperType, types.GeneratorType, types.CodeType, types.FrameType),
    *(types.CellType, types.GenericAlias, types.UnionType, types.TracebackType, types.WrapperDescriptorType),
    *(types.MethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, types.SimpleNamespace),
    *(types.ClassMethodDescriptorType, property, staticmethod, classmethod, super, functools.partial),
    *(datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, decimal.Decimal, struct.Struct),
    *(re.Pattern, re.Match, contextvars.ContextVar, contextvars.Token),
    *(operator.itemgetter, operator.attrgetter, operator.methodcaller, weakref.ref),
    *(weakref.ProxyType, weakref.CallableProxyType),
)
"""Types of C that never change, whose changes are nobody else's business, or that others look into."""


def is_foreign(kind: type) -> bool:
    """Whether a type is written in C, is no container that is known, and may change."""
    if kind in VIEWS or kind in ITERATORS or issubclass(kind, (*_HARMLESS, *CONTAINERS)):
        return False
    return any(
        isinstance(value, types.MethodDescriptorType)
        for base in kind.__mro__[:-1]
        if base.__module__ not in _HARMLESS_MODULES
        for value in vars(base).values()
    )


def foreign_methods(kind: type, is_own: Callable[[types.FunctionType], bool]) -> bool:
    """Whether a class has methods in Python that are not instrumented, those of the standard library's ABCs aside."""
    return any(
        isinstance(value, types.FunctionType) and not is_own(value)
        for base in kind.__mro__[:-1]
        for value in vars(base).values()
    )
