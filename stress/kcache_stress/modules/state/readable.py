"""Types of objects whose complete state can be read."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import logging
import re
import types
import typing
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

VALUES: tuple[type, ...] = (bool, bytes, complex, range, decimal.Decimal, datetime.date, datetime.datetime)
VALUES += (datetime.time, datetime.timedelta, datetime.timezone)
"""Immutable types; their objects count by value."""

VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()), types.MappingProxyType)
_DESCRIPTORS: tuple[type, ...] = (
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
)
_DESCRIPTORS += (types.MemberDescriptorType, types.GetSetDescriptorType)
CONSTANTS: tuple[Any, ...] = (
    type,
    types.ModuleType,
    types.CodeType,
    types.GenericAlias,
    types.UnionType,
    logging.Logger,
)
CONSTANTS += (enum.Enum, re.Pattern, types.EllipsisType, types.NotImplementedType, *_DESCRIPTORS)
"""Types whose objects count by identity: they live as long as the modules, and their content is ignored."""

BASES: tuple[type, ...] = (
    object,
    dict,
    list,
    set,
    frozenset,
    tuple,
    str,
    int,
    float,
    bytes,
    bytearray,
    BaseException,
    deque,
)
BASES += (collections.OrderedDict, collections.defaultdict)
_NO_STATE_OF_ITS_OWN = (typing.Generic, typing.Protocol)
THREAD_BOOKKEEPING = frozenset({"_stderr", "_invoke_excepthook", "_native_id"})


READ_BASE: dict[type, Callable[[Any], Iterable[object]]] = {
    dict: lambda item: (list(dict.keys(item)), list(dict.values(item))),
    collections.OrderedDict: lambda item: (list(dict.keys(item)), list(dict.values(item))),
    collections.defaultdict: lambda item: (list(dict.keys(item)), list(dict.values(item)), item.default_factory),
    list: lambda item: (list(list.__iter__(item)),),
    set: lambda item: (list(set.__iter__(item)),),
    frozenset: lambda item: (list(frozenset.__iter__(item)),),
    tuple: lambda item: (tuple(tuple.__iter__(item)),),
    deque: lambda item: (list(deque.__iter__(item)), item.maxlen),
    str: lambda item: (str.__str__(item),),
    int: lambda item: (int.__int__(item),),
    float: lambda item: (float.__float__(item),),
    bytes: lambda item: (bytes.__getitem__(item, slice(None)),),
    bytearray: lambda item: (bytes(item),),
    BaseException: lambda item: (item.args, item.__cause__, item.__context__),
}


def is_thread(kind: type) -> bool:
    """Whether a type is a subclass of ``Thread`` of any copy of ``threading``."""
    return any(base.__name__ == "Thread" and base.__module__ == "threading" for base in kind.__mro__)


def is_readable(kind: type) -> bool:
    """Whether the complete state of objects of a type is in attributes, or in a known built-in base.

    Not readable: a class in C with room for more than its slots, a class with ``__del__``, and thread-local data. The
    behaviour of the latter two depends on more than the reachable objects.
    """
    for owner in kind.__mro__:
        if owner in BASES:
            return True
        if "__del__" in vars(owner) or owner.__qualname__ == "make_local.<locals>.local":
            return False
        if owner in _NO_STATE_OF_ITS_OWN or owner.__module__ == "abc":
            continue
        if issubclass(owner, BaseException) and owner.__module__ == "builtins":
            continue
        names = vars(owner)
        slots = sum(isinstance(member, types.MemberDescriptorType) for member in names.values())
        room = 8 * (slots + ("__dict__" in names) + ("__weakref__" in names))
        parent = owner.__base__
        if parent is None or owner.__basicsize__ > parent.__basicsize__ + room or "__module__" not in names:
            return False
    return False
