"""Code in C: the types whose methods are known, and the objects whose use runs code in Python."""

import functools
import sys
import types
from collections.abc import Callable
from typing import Final

from .functions import LOOKUPS, modules
from .tables import CALLABLES, CONTAINERS, ITERATORS, KNOWN_TYPES, NOT_RUN_BY_C, UNSEEN, VIEWS

_KNOWN_MODULES: Final = modules(lambda row: row.types and not row.third_party) | {"builtins"}
"""Modules whose types in C have methods that touch only their object and their arguments, or need no report."""
_OF_THE_OUTSIDE: Final = modules(lambda row: row.state == "outside")
_HARMLESS_MODULES: Final = modules(lambda row: row.types == "unseen")
_INERT_MODULES: Final = modules(lambda row: row.is_inert)


class ModuleState:
    """State that functions in C of the standard library share: of one module, or of the world outside of Python.

    Attributes:
        name: of the module; ``outside`` for files, processes, and what else the operating system keeps.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


OUTSIDE: Final = ModuleState("outside")
ANY_STATE: Final = ModuleState("any")
"""Place that each function in C with a state reads: unknown code in Python, which may call any of them, writes it."""


def state_of(module: str) -> ModuleState | None:
    """Return the state that the functions in C of a module share; ``None`` if it is not of the standard library."""
    top = module.partition(".")[0]
    return _state_of(top) if top in sys.stdlib_module_names else None


@functools.cache
def _state_of(module: str) -> ModuleState:
    return OUTSIDE if module in _OF_THE_OUTSIDE else ModuleState(module)


def module_in_c(kind: type) -> str:
    """Return the name of the module of the class in C that a type is, or is derived from."""
    return _owner(kind).__module__


def _owner(kind: type) -> type:
    return next((base for base in kind.__mro__ if not _is_made_of_python(base)), object)


def is_known_type(kind: type) -> bool:
    """Whether the methods in C of a type touch only their object and their arguments."""
    owner = _owner(kind)
    module = owner.__module__
    top = module.partition(".")[0]
    if (module, owner.__name__) in KNOWN_TYPES:
        return True
    return top in _KNOWN_MODULES


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


inert: Final[dict[type, bool]] = {}
"""Cache of :func:`is_inert`."""


def is_inert(kind: type) -> bool:
    """Whether hashing, comparing, converting, iterating and printing objects of this type run no Python code."""
    known = inert.get(kind)
    if known is None:
        known = inert[kind] = _is_inert(kind)
    return known


def _is_inert(kind: type) -> bool:
    if kind.__module__ in _INERT_MODULES:
        return True
    return not any(
        isinstance(value, types.FunctionType) and name.startswith("__") and name not in NOT_RUN_BY_C
        for base in kind.__mro__
        for name, value in vars(base).items()
    )


def calls_python(item: object) -> bool:
    """Whether code in C that uses or calls an object may run code in Python."""
    kind = type(item)
    if kind in CALLABLES or kind in LOOKUPS or not is_inert(kind):
        return True
    if issubclass(kind, type):
        makers = (vars(base).get(name) for base in item.__mro__ for name in ("__init__", "__new__"))  # type: ignore[attr-defined]
        return kind is not type or any(isinstance(maker, (types.FunctionType, staticmethod)) for maker in makers)
    if kind in (types.MethodWrapperType, types.BuiltinMethodType):
        return not is_inert(type(item.__self__))  # type: ignore[attr-defined]
    return any(isinstance(vars(base).get("__call__"), types.FunctionType) for base in kind.__mro__)


def is_foreign(kind: type) -> bool:
    """Whether a type is written in C, may change, and is not a known container."""
    if kind in VIEWS or kind in ITERATORS or issubclass(kind, (*UNSEEN, *CONTAINERS)):
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
