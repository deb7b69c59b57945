"""Functions and classes that are known, and the effects of calling them on the arguments."""

from collections.abc import Callable
from typing import Any, Final

from .rows import FunctionRow, ModuleRow, load, names, objects

ROWS: Final = load(FunctionRow)
MODULES: Final = load(ModuleRow)


def modules(condition: Callable[[ModuleRow], object]) -> frozenset[str]:
    """Return the names of the modules whose rows fulfil a condition."""
    return names(row for row in MODULES if condition(row))


def _functions(condition: Callable[[FunctionRow], object]) -> frozenset[Any]:
    return objects(row for row in ROWS if condition(row))


def _builtins(condition: Callable[[FunctionRow], object]) -> frozenset[str]:
    return names(row for row in ROWS if row.module == "builtins" and condition(row))


READERS: Final = _functions(lambda row: row.only_reads)
"""Functions, in C or in Python, that only read their arguments, if the code that they call only reads."""
SILENT_CALLS: Final = _functions(lambda row: row.looks_at == "nothing")
"""Functions and classes that access no part of their arguments."""
_POSITIONS: Final = ("first", "second")
STORING: Final = {
    function: _POSITIONS.index(row.stores_in) for row in ROWS if row.stores_in for function in row.objects()
}
"""Function -> the position of the argument that it changes."""
COPYING: Final = _functions(lambda row: row.looks_at == "references")
"""Functions that do not access the elements of their arguments' containers, except to copy references."""
DEEP: Final = _functions(lambda row: row.looks_at == "everything")
"""Functions that read everything that their arguments contain, at any depth."""
LAZY: Final = _functions(lambda row: row.holds == "arguments")
"""Classes whose objects keep the arguments and access them later."""
LENDING: Final = _functions(lambda row: row.holds == "buffer")
"""Functions and classes whose results keep the buffer of an argument."""
NO_PROOF: Final[dict[Any, tuple[str, bool]]] = {
    function: (row.no_proof_because.format(name=name) or f"calls {row.module}.{name}", row.lasts)
    for row in ROWS
    if row.no_proof_because or row.uses_interpreter
    for name, function in zip(row.names, row.objects(), strict=True)
}
"""Function -> the reason why no execution that calls it is part of a proof, and whether it applies to later ones."""
ATTRIBUTE_READERS: Final = _functions(lambda row: row.by_name == "reads")
ATTRIBUTE_WRITERS: Final = _functions(lambda row: row.by_name == "writes")
INSPECTING: Final = _functions(lambda row: row.by_name == "inspects")
"""Functions in Python that look attributes up without running code."""
LOOKUPS: Final = _functions(lambda row: row.by_name == "looks up")
"""Classes whose objects are functions that look attributes up."""
COPIES_FIELDS: Final = _functions(lambda row: row.copies_fields)
"""Functions that create a copy of an object of a dataclass, with changes."""
_BY_NAME: Final = (*ATTRIBUTE_READERS, *ATTRIBUTE_WRITERS, *_functions(lambda row: row.by_name == "hands out"))
_PURE_MODULES: Final = modules(lambda row: row.touches == "arguments")
_OVERRIDES: Final = {(row.module, name): row.touches for row in ROWS if row.touches for name in row.names}

STORING_BUILTINS: Final = _builtins(lambda row: row.by_name in ("writes", "hands out"))
"""Names of builtins by which any attribute can be stored."""
ATTRIBUTE_BUILTINS: Final = {
    name: int(row.by_name == "writes") for row in ROWS if row.by_name in ("reads", "writes") for name in row.names
}
"""Builtin that accesses an attribute by its name -> 1 if it stores or deletes the attribute, else 0."""
UNKNOWN_BUILTINS: Final = _builtins(lambda row: row.touches == "anything")
UNREPORTED_BUILTINS: Final = _builtins(lambda row: row.report == "nothing")
"""Builtins that access none of their arguments."""
READING_BUILTINS: Final = _builtins(lambda row: row.report in ("argument", "elements"))
"""Builtins that only read their argument, if there is one."""
LOOKING_BUILTINS: Final = _builtins(lambda row: row.report == "elements")
"""Builtins that access the elements of their argument: they print, compare or hash them, or test their truth."""
SCALAR_BUILTINS: Final = _builtins(lambda row: row.result == "scalar")
SAME_BUILTINS: Final = _builtins(lambda row: row.result == "as argument")
"""Builtins that return the result of a method of their argument."""
NEW_BUILTINS: Final = _builtins(lambda row: row.result == "new")
"""Builtins whose result is always a new object."""
ITERATOR_BUILTINS: Final = _builtins(lambda row: row.result == "new iterator")
"""Builtins that create an iterator that no other thread can know."""
CONSUMING_BUILTINS: Final = _builtins(lambda row: row.consumes)
"""Builtins that read their argument at once, and keep no reference to it."""
GENERATOR_BUILTINS: Final = _builtins(lambda row: row.consumes == "generator")
"""Builtins that consume a generator expression at once."""
LISTING_BUILTINS: Final = _builtins(lambda row: row.variables == "lists")
VARIABLE_BUILTINS: Final = _builtins(lambda row: row.variables)
"""Builtins that access the variables of their caller."""


def reaches_by_name(function: object) -> bool:
    """Whether a function accesses attributes by names that do not occur in instrumented code."""
    return type(function) in LOOKUPS or any(function is other for other in _BY_NAME)


def is_known_function(function: Any) -> bool:
    """Whether a function in C (not a method) touches only its arguments."""
    module = function.__module__
    touches = _OVERRIDES.get((module, function.__name__))
    if touches is None:
        return module == "builtins" or module in _PURE_MODULES
    return touches == "arguments"
