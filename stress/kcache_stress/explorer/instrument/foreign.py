"""Objects whose code is not instrumented: what their methods do to them cannot be seen, so each call is one write."""

import contextvars
import datetime
import decimal
import enum
import functools
import operator
import re
import struct
import sys
import types
import weakref
from collections.abc import Mapping
from typing import Any, Final

from .names import HOOK_MARK
from .tables import CONTAINERS, IMMUTABLE, ITERATORS, VIEWS, WRITE

_STATEFUL_LIBRARY: Final = frozenset({"collections", "weakref", "_weakrefset", "shelve", "sched"})
"""Modules of the standard library with containers written in Python; instances of others hold nothing that matters."""

_HARNESS: Final = frozenset({"kcache", "kcache_model", "kcache_stress", "kcache_conformance"})
_HARMLESS_MODULES: Final = frozenset({"_thread", "abc", "typing", "_abc", "greenlet", "_greenlet", "_io"})
_HARMLESS: Final[tuple[Any, ...]] = (
    *IMMUTABLE,
    *(type, BaseException, frozenset, memoryview, enum.Enum, types.ModuleType, types.FunctionType, types.MethodType),
    *(types.BuiltinFunctionType, types.MethodWrapperType, types.GeneratorType, types.CodeType, types.FrameType),
    *(types.CellType, types.GenericAlias, types.UnionType, types.TracebackType, types.WrapperDescriptorType),
    *(types.MethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, types.SimpleNamespace),
    *(types.ClassMethodDescriptorType, property, staticmethod, classmethod, super, functools.partial),
    *(datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, decimal.Decimal, struct.Struct),
    *(re.Pattern, re.Match, contextvars.ContextVar, contextvars.Context, contextvars.Token),
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


def foreign_methods(kind: type) -> dict[str, int] | None:
    """The methods of a class that are not instrumented; each writes. ``None`` if there are none that matter."""
    if issubclass(kind, (BaseException, type)):
        return None
    seen: set[str] = set()
    found: dict[str, int] = {}
    for base in kind.__mro__[:-1]:
        for name, value in vars(base).items():
            if name not in seen and isinstance(value, types.FunctionType) and _matters(value.__globals__):
                found[name] = WRITE
            seen.add(name)
    return found or None


def _matters(namespace: Mapping[str, object]) -> bool:
    if HOOK_MARK in namespace:
        return False
    top = str(namespace.get("__name__", "")).partition(".")[0]
    if top in sys.stdlib_module_names:
        return top in _STATEFUL_LIBRARY
    return top not in _HARNESS
