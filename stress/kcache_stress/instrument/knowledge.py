"""Knowledge of code that is not instrumented: lists of functions and types that touch only their arguments.

All other code is unknown: it may touch everything that it can reach, and if that matters, a search is no proof. Each
entry is a claim: add one only after reading the implementation in C or in the standard library.
"""

import abc
import codecs
import contextlib
import contextvars
import copy
import copyreg
import dataclasses
import datetime
import decimal
import dis
import enum
import functools
import gc
import heapq
import inspect
import json
import math
import operator
import os
import re
import struct
import sys
import time
import types
import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any, Final

from .tables import CONTAINERS, IMMUTABLE, ITERATORS, VIEWS

PURE_MODULES: Final = frozenset(
    {"math", "cmath", "_operator", "_struct", "unicodedata", "binascii", "zlib", "_sre", "_string", "_stat"}
    | {"_bisect", "_heapq", "itertools", "_functools", "_collections", "_statistics", "_datetime", "_decimal", "_json"}
    | {"_abc", "_typing", "_md5", "_sha1", "_sha2", "_sha256", "_sha512", "_sha3", "_blake2", "_hashlib", "_codecs"}
    | {"time", "_thread", "greenlet._greenlet", "_opcode", "_tokenize", "errno", "array"}
)
"""Modules in C whose functions touch only their arguments (or are replaced by virtual ones: `time`, `_thread`)."""

_PURE_SYS: Final = frozenset(
    {"intern", "getsizeof", "_getframe", "exc_info", "exception", "getdefaultencoding"}
    | {"is_finalizing", "getfilesystemencoding", "call_tracing", "audit"}
)
UNKNOWN_BUILTINS: Final = frozenset({"open", "input", "exec", "eval", "compile", "__import__", "breakpoint"})

READERS: Final = frozenset(
    {len, list, dict, set, tuple, frozenset, sorted, sum, min, max, any, all, iter, next, enumerate, zip, map, filter}
    | {reversed, bool, repr, str, print, format, bytes, bytearray, memoryview, hash, ascii, functools.reduce}
    | {copy.copy, copy.deepcopy, json.dumps, json.dump, math.fsum, math.prod, heapq.nlargest, heapq.nsmallest}
    | {heapq.merge, contextlib.closing, contextlib.nullcontext}
    | {getattr(operator, name) for name in operator.__all__ if not name.startswith("i") or name in {"is_", "index"}}
) - {operator.setitem, operator.delitem, getattr(operator, "call", None)}
"""Functions, in C or in Python, that only read their arguments, if the code that they call only reads."""

_BY_NAME: Final = (getattr, setattr, delattr, hasattr, vars)
_LOOKUPS: Final = frozenset({operator.attrgetter, operator.methodcaller})


def reaches_by_name(function: object) -> bool:
    """Whether a function accesses attributes by names that do not occur in instrumented code."""
    return type(function) in _LOOKUPS or any(function is other for other in _BY_NAME)


_OPAQUE_STATE: Final = frozenset(
    {"_io", "_socket", "_ssl", "_sqlite3", "mmap", "select", "_ctypes", "_queue", "_asyncio"}
)
"""Standard library modules in C whose objects share state with each other or with the outside world."""


def is_known_function(function: Any) -> bool:
    """Whether a function in C (not a method) touches only its arguments."""
    module = function.__module__
    if module == "builtins":
        return function.__name__ not in UNKNOWN_BUILTINS
    if module == "sys":
        return function.__name__ in _PURE_SYS
    return module in PURE_MODULES


def is_known_type(kind: type) -> bool:
    """Whether the methods in C of a type touch only their object and their arguments."""
    owner = next((base for base in kind.__mro__ if not _is_made_of_python(base)), object)
    module = owner.__module__
    if module == "_io":
        return owner.__name__ in {"StringIO", "BytesIO"}
    top = module.partition(".")[0]
    return (top in sys.stdlib_module_names or top == "builtins") and top not in _OPAQUE_STATE


def _is_made_of_python(kind: type) -> bool:
    """Whether a class defines no methods or attributes in C, except those that a class statement creates."""
    if not kind.__flags__ & HEAP_TYPE:
        return False
    own = {name: value for name, value in vars(kind).items() if name not in {"__dict__", "__weakref__"}}
    maker = own.get("__new__")
    is_made_by_c = type(maker) is types.BuiltinFunctionType and maker.__self__ is kind
    return not is_made_by_c and not any(isinstance(one, _OF_C) and one.__objclass__ is kind for one in own.values())


HEAP_TYPE: Final = 1 << 9
"""Py_TPFLAGS_HEAPTYPE: the type was created at run time, by a class statement or in C; its attributes may change."""
_OF_C: Final = (
    *(types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType),
    types.GetSetDescriptorType,
)


_LIBRARY: Final = os.path.dirname(os.__file__) + os.sep
_TRANSPARENT_FILES: Final = frozenset(
    {"abc", "_collections_abc", "typing", "enum", "types", "operator", "numbers", "keyword"}
    | {"copyreg", "stat", "bisect", "heapq", "inspect", "ast", "dis", "opcode", "_py_abc"}
)
_OF_NEW: Final = frozenset({"__init__", "__new__", "__init_subclass__", "__set_name__", "__call__", "__setattr__"})
_STORING_FILES: Final = frozenset({"abc", "typing", "types", "inspect", "ast"})
"""Transparent files in which some functions change their arguments."""
_OF_PATHS: Final = frozenset({"posixpath", "ntpath", "genericpath"})
_OF_FILES: Final = frozenset({"stat", "lstat", "getcwd", "getcwdb", "listdir", "scandir", "_getfullpathname"})
"""Functions by which path functions access the file system."""
HIDDEN: Final = frozenset(
    {sys.getrefcount, sys.getswitchinterval, sys.setswitchinterval, codecs.register_error, codecs.lookup_error}
    | {abc.ABCMeta.register, copyreg.pickle, inspect.getgeneratorstate, inspect.getcoroutinestate}
    | {inspect.getgeneratorlocals, inspect.getcoroutinelocals, inspect.getclosurevars}
    | {gc.collect, gc.get_objects, gc.get_referrers, codecs.register, codecs.unregister, abc.update_abstractmethods}
    | {getattr(time, "tzset", gc.collect), sys.set_int_max_str_digits}
)
"""Functions that access internal state of Python."""
_OF_PROTOCOLS: Final = "_ProtocolMeta.__instancecheck__"
_NOT_TRANSPARENT: Final = frozenset(
    (
        *(function.__qualname__ for function in (*HIDDEN, inspect.getmembers, inspect.getmembers_static)),
        _OF_PROTOCOLS,
        *("add_extension", "remove_extension", "overload", "get_overloads", "clear_overloads"),  # registries
        *("get_type_hints", "merge"),  # they iterate over objects that other threads may change
        *("Scanner.__init__", "Scanner.scan"),  # in re: the scanner stores the match for the functions that it calls
    )
)
_MANAGERS: Final = (
    *("_GeneratorContextManager", "contextmanager", "closing", "suppress", "nullcontext", "ContextDecorator"),
    *("AbstractContextManager", "_RecreationalContextManager", "_AsyncGeneratorContextManager"),
)
_WRAPPERS: Final = ("wraps", "update_wrapper", "total_ordering", "partialmethod", "cmp_to_key", "reduce")
_COMPARISONS: Final = tuple(
    f"_{one}_from_{other}" for one in ("lt", "le", "gt", "ge") for other in ("lt", "le", "gt", "ge")
)
_TRANSPARENT_PARTS: Final[dict[str, tuple[str, ...]]] = {
    "contextlib": _MANAGERS,
    "functools": _WRAPPERS + _COMPARISONS,
    "re": ("",),
    "weakref": ("ref",),
    "dataclasses": ("_is_dataclass_instance", "is_dataclass", "fields"),  # they read only the class
    "unittest": tuple(  # they call the test, and record that on the test's own object
        f"TestCase.{one}"
        for one in (
            "__init__",
            "debug",
            "_call",
            "setUp",
            "tearDown",
            "addCleanup",
            "doCleanups",
            "addTypeEqualityFunc",
        )
    ),
}
"""Module -> prefixes of the qualified names of its transparent functions."""


def is_transparent(code: CodeType) -> bool:
    """Whether a function in Python of the standard library only calls its arguments and their methods.

    The mixins of ``collections.abc`` are transparent, because they use an object only by its methods. Mixins that
    iterate are not: an ``__iter__`` may return an iterator in C, whose steps access a container without a report.
    """
    name = _library_module(code)
    if name is None:
        # Both touch only the new object; pytest.raises calls its argument and reads the exception.
        return makes_objects(code) or makes_tuples(code) or code.co_filename.endswith(_PYTEST_RAISES)
    top = name.partition(os.sep)[0]
    if code.co_qualname in _NOT_TRANSPARENT or (top == "_collections_abc" and _iterates(code)):
        return False
    if top in _TRANSPARENT_FILES:
        return top not in _STORING_FILES or not _stores(code)
    if top in _OF_PATHS and _OF_FILES.isdisjoint(code.co_names):
        return True
    return code.co_qualname.startswith(_TRANSPARENT_PARTS.get(top, ("\0",)))


def _library_module(code: CodeType) -> str | None:
    """Return the standard library module of a function; None if it belongs to none."""
    file = code.co_filename
    if file.startswith("<frozen "):
        return file[len("<frozen ") : -1]
    if file.startswith(_LIBRARY) and "site-packages" not in file:
        return file[len(_LIBRARY) :].removesuffix(".py").removesuffix(f"{os.sep}__init__")
    return None


def checks_protocols(code: CodeType) -> bool:
    """Whether a function implements ``isinstance`` for protocols, which looks up the attributes of the protocol."""
    return code.co_qualname == _OF_PROTOCOLS


def hands_to_c(code: CodeType) -> bool:
    """Whether a transparent function passes its arguments to code in C, whose accesses need a report at the call."""
    name = code.co_filename.removeprefix(_LIBRARY).removeprefix("<frozen ")
    return name.startswith((f"re{os.sep}", "re.py", "posixpath", "ntpath", "genericpath"))


def _stores(code: CodeType) -> bool:
    """Whether a function stores attributes of its arguments, and not only of objects that it creates."""
    if code.co_name in _OF_NEW or code.co_qualname.startswith(("_Unparser.", "_no_init_or_replace_init")):
        return False
    return "setattr" in code.co_names or any(
        step.opname in ("STORE_ATTR", "DELETE_ATTR") for step in dis.get_instructions(code)
    )


def _iterates(code: CodeType) -> bool:
    return "next" in code.co_names or any(step.opname == "FOR_ITER" for step in dis.get_instructions(code))


_JSON: Final = f"json{os.sep}"
_PYTEST_RAISES: Final = os.sep + os.path.join("_pytest", "raises.py")
_ASSERTIONS: Final = os.path.join("unittest", "case.py")
_REACH_FURTHER: Final = ("TestCase.assertWarns", "TestCase.assertLogs", "TestCase.assertNoLogs", "_AssertWarnsContext")
_READING_FILES: Final = (
    "copy.py",
    "pprint.py",
    f"{_JSON}encoder.py",
    f"{_JSON}__init__.py",
    "dataclasses.py",
    _ASSERTIONS,
)
_GENERATED: Final = "__create_fn__.<locals>."
"""Prefix of the qualified names of functions that ``dataclasses`` generates."""

_CONTAINED: Final = frozenset(
    {"contextlib", "collections", "dataclasses", "copy", "configparser", "sched", "weakref", "_weakrefset", "json"}
    | {"pprint", "graphlib", "fractions", "textwrap", "difflib", "string", "reprlib", "functools", "queue", "heapq"}
    | {"shelve", "_pyio", "codecs", "encodings", "abc", "ast", "inspect"}
)
"""Standard library modules in Python whose functions touch only objects that their arguments reach."""


def _asserts(code: CodeType) -> bool:
    return not code.co_qualname.startswith(_REACH_FURTHER)


def makes_objects(code: CodeType) -> bool:
    """Whether a function is an ``__init__`` that ``dataclasses`` generated."""
    return code.co_qualname == _GENERATED + "__init__"


def makes_tuples(code: CodeType) -> bool:
    """Whether a function is a ``__new__`` that ``collections.namedtuple`` generated."""
    return (
        code.co_qualname == "<lambda>" and code.co_filename.startswith("<string") and code.co_names == ("_tuple_new",)
    )


_REPLACES: Final = (dataclasses.replace.__code__, getattr(dataclasses, "_replace", dataclasses.replace).__code__)


def replaces(code: CodeType) -> bool:
    """Whether a function is ``dataclasses.replace``, which reads the fields of an object and creates another one."""
    return code is _REPLACES[0] or code is _REPLACES[1]


def touches_arguments_only(code: CodeType) -> bool:
    """Whether a function that is not instrumented touches only objects that its arguments and its closure reach."""
    name = _library_module(code)
    if name is None:
        return code.co_qualname.startswith(_GENERATED)
    return name.partition(os.sep)[0] in _CONTAINED or (f"{name}.py" == _ASSERTIONS and _asserts(code))


def only_reads(code: CodeType) -> bool:
    """Whether a function that is not instrumented does not change its arguments, although it is not atomic."""
    if code.co_qualname.startswith(_GENERATED):
        return code.co_name not in {"__setattr__", "__delattr__", "__init__"}
    file = code.co_filename
    return _library_module(code) in _OF_PATHS or (file.startswith(_LIBRARY) and file[len(_LIBRARY) :] in _READING_FILES)


_NOT_RUN_BY_C: Final = frozenset(
    {"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__class_getitem__", "__del__"}
    | {"__getattr__", "__getattribute__", "__setattr__", "__delattr__", "__get__", "__set__", "__delete__", "__dir__"}
    | {"__enter__", "__exit__", "__aenter__", "__aexit__", "__await__", "__call__", "__subclasshook__", "__prepare__"}
    | {"__instancecheck__", "__subclasscheck__", "__sizeof__", "__mro_entries__"}
)
"""Special methods that code in C never calls when it hashes, compares, converts, iterates over or prints objects."""

inert: Final[dict[type, bool]] = {}
"""Cache of :func:`is_inert`."""


def is_inert(kind: type) -> bool:
    """Whether hashing, comparing, converting, iterating and printing objects of this type run no Python code."""
    known = inert.get(kind)
    if known is None:
        known = inert[kind] = _is_inert(kind)
    return known


def _is_inert(kind: type) -> bool:
    if kind.__module__ in ("functools", "_thread"):
        return True  # keys of lru_cache compare their elements; printing a virtual lock reports itself
    return not any(
        isinstance(value, types.FunctionType) and name.startswith("__") and name not in _NOT_RUN_BY_C
        for base in kind.__mro__
        for name, value in vars(base).items()
    )


_CALLABLES: Final = frozenset({types.FunctionType, types.MethodType, functools.partial, types.GeneratorType})


def calls_python(item: object) -> bool:
    """Whether code in C that uses or calls an object may run code in Python."""
    kind = type(item)
    if kind in _CALLABLES or kind in _LOOKUPS or not is_inert(kind):
        return True
    if issubclass(kind, type):
        makers = (vars(base).get(name) for base in item.__mro__ for name in ("__init__", "__new__"))  # type: ignore[attr-defined]
        return kind is not type or any(isinstance(maker, (types.FunctionType, staticmethod)) for maker in makers)
    if kind in (types.MethodWrapperType, types.BuiltinMethodType):
        return not is_inert(type(item.__self__))  # type: ignore[attr-defined]
    return any(isinstance(vars(base).get("__call__"), types.FunctionType) for base in kind.__mro__)


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
"""Types in C that never change, whose changes no other thread can observe, or that are handled elsewhere."""


def is_foreign(kind: type) -> bool:
    """Whether a type is written in C, may change, and is not a known container."""
    if kind in VIEWS or kind in ITERATORS or issubclass(kind, (*_HARMLESS, *CONTAINERS)):
        return False
    return any(
        isinstance(value, types.MethodDescriptorType)
        for base in kind.__mro__[:-1]
        if base.__module__ not in _HARMLESS_MODULES
        for value in vars(base).values()
    )


def foreign_methods(kind: type, is_own: Callable[[types.FunctionType], bool]) -> bool:
    """Whether a class has methods in Python that are not instrumented; ``is_own`` decides for each method."""
    return any(
        isinstance(value, types.FunctionType) and not is_own(value)
        for base in kind.__mro__[:-1]
        for value in vars(base).values()
    )
