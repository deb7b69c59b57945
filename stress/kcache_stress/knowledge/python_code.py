"""Code in Python that is not instrumented, mostly of the standard library: what its functions access."""

import dis
import os
from collections.abc import Iterable
from types import CodeType
from typing import Final

from .functions import COPIES_FIELDS, ROWS, STORING, modules
from .rows import FunctionRow, names
from .tables import PREPARING

_LIBRARY: Final = os.path.dirname(os.__file__) + os.sep
_TRANSPARENT_MODULES: Final = modules(lambda row: row.transparent)
_STORING_MODULES: Final = modules(lambda row: row.transparent == "stores")
_ITERATING_MODULES: Final = modules(lambda row: row.transparent == "iterates")
_PATH_MODULES: Final = modules(lambda row: row.transparent == "opens")
_OPENING: Final = names(row for row in ROWS if row.opens_files)
"""Functions by which path functions access the file system."""
_READING_MODULES: Final = modules(lambda row: row.only_reads)
_CONTAINED: Final = modules(lambda row: row.python_touches == "arguments")
"""Modules whose functions touch only objects that their arguments reach."""
_IN_C: Final = modules(lambda row: row.hands_to_c)
_OF_PROTOCOLS: Final = "_ProtocolMeta.__instancecheck__"
_NOT_TRANSPARENT: Final = names(row for row in ROWS if row.is_transparent is False or row.uses_interpreter)


def _prefixes(rows: Iterable[FunctionRow]) -> dict[str, tuple[str, ...]]:
    """Return module -> names in it, which qualified names of functions may begin with."""
    prefixes: dict[str, tuple[str, ...]] = {}
    for row in rows:
        prefixes[row.module] = (*prefixes.get(row.module, ()), *row.names)
    return prefixes


_TRANSPARENT_PARTS: Final = _prefixes(row for row in ROWS if row.is_transparent)
_CONTAINED_PARTS: Final = _prefixes(row for row in ROWS if row.touches == "arguments")
_STORING_CODES: Final = frozenset(function.__code__ for function in STORING)
_ASKING: Final = {(row.module, name) for row in ROWS if row.asks_outside for name in row.names}
_REACHING_FURTHER: Final = _prefixes(row for row in ROWS if row.touches == "anything")
_NOTHING: Final = ("\0",)
_PYTEST_RAISES: Final = os.sep + os.path.join("_pytest", "raises.py")
_GENERATED: Final = "__create_fn__.<locals>."
"""Prefix of the qualified names of functions that ``dataclasses`` generates."""
_REPLACING: Final = tuple(function.__code__ for function in COPIES_FIELDS)


def is_transparent(code: CodeType) -> bool:
    """Whether a function in Python of the standard library only calls its arguments and their methods."""
    name = library_module(code)
    if name is None:
        # Both touch only the new object; pytest.raises calls its argument and reads the exception.
        return makes_objects(code) or makes_tuples(code) or code.co_filename.endswith(_PYTEST_RAISES)
    top = name.partition(".")[0]
    if code.co_qualname in _NOT_TRANSPARENT or (top in _ITERATING_MODULES and _iterates(code)):
        return False
    if code.co_qualname.startswith(_TRANSPARENT_PARTS.get(name, _NOTHING)):
        return True
    if top in _PATH_MODULES:
        return _OPENING.isdisjoint(code.co_names)
    return top in _TRANSPARENT_MODULES and (top not in _STORING_MODULES or not _stores(code))


def library_module(code: CodeType) -> str | None:
    """Return the standard library module of a function; None if it belongs to none."""
    file = code.co_filename
    if file.startswith("<frozen "):
        return file[len("<frozen ") : -1]
    if file.startswith(_LIBRARY) and "site-packages" not in file:
        return file[len(_LIBRARY) :].removesuffix(".py").removesuffix(f"{os.sep}__init__").replace(os.sep, ".")
    return None


def checks_protocols(code: CodeType) -> bool:
    """Whether a function implements ``isinstance`` for protocols, which looks up the attributes of the protocol."""
    return code.co_qualname == _OF_PROTOCOLS


def hands_to_c(code: CodeType) -> bool:
    """Whether a transparent function passes its arguments to code in C, whose accesses need a report at the call."""
    return (library_module(code) or "").partition(".")[0] in _IN_C


def _stores(code: CodeType) -> bool:
    """Whether a function stores attributes of its arguments, and not only of objects that it creates."""
    if code.co_name in PREPARING or code.co_qualname.startswith(("_Unparser.", "_no_init_or_replace_init")):
        return False
    return "setattr" in code.co_names or any(
        step.opname in ("STORE_ATTR", "DELETE_ATTR") for step in dis.get_instructions(code)
    )


def _iterates(code: CodeType) -> bool:
    return "next" in code.co_names or any(step.opname == "FOR_ITER" for step in dis.get_instructions(code))


def makes_objects(code: CodeType) -> bool:
    """Whether a function is an ``__init__`` that ``dataclasses`` generated."""
    return code.co_qualname == _GENERATED + "__init__"


def makes_tuples(code: CodeType) -> bool:
    """Whether a function is a ``__new__`` that ``collections.namedtuple`` generated."""
    return (
        code.co_qualname == "<lambda>" and code.co_filename.startswith("<string") and code.co_names == ("_tuple_new",)
    )


def replaces(code: CodeType) -> bool:
    """Whether a function is ``dataclasses.replace``, which reads the fields of an object and creates another one."""
    return any(code is other for other in _REPLACING)  # code of a private copy is equal, but not the same


def touches_arguments_only(code: CodeType) -> bool:
    """Whether a function that is not instrumented touches only objects that its arguments and its closure reach."""
    name = library_module(code)
    if name is None:
        return code.co_qualname.startswith(_GENERATED)
    if code.co_qualname.startswith(_REACHING_FURTHER.get(name, _NOTHING)):
        return False
    is_contained = name in _CONTAINED or name.partition(".")[0] in _CONTAINED
    return is_contained or code.co_qualname.startswith(_CONTAINED_PARTS.get(name, _NOTHING))


def asks_outside(code: CodeType) -> bool:
    """Whether a function makes a single call in C, which reads state of the operating system."""
    return (library_module(code), code.co_qualname) in _ASKING


def draws(code: CodeType) -> bool:
    """Whether a function draws from a generator of random numbers, or changes it."""
    return library_module(code) == "random"


def only_reads(code: CodeType) -> bool:
    """Whether a function that is not instrumented does not change its arguments, although it is not atomic."""
    if code.co_qualname.startswith(_GENERATED):
        return code.co_name not in {"__setattr__", "__delattr__", "__init__"}
    return library_module(code) in _READING_MODULES and code not in _STORING_CODES
