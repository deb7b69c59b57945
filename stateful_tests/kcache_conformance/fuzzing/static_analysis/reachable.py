"""The code that a function may run, and the values that this code can see."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

_DEEPEST = 6
_MOST_CODES = 400
_ABOUT_MODULES = frozenset({"__name__", "__doc__", "__file__"})
_ABOUT_CLASSES = frozenset({"__doc__", "__module__", "__qualname__", "__firstlineno__", "__static_attributes__"})


class Reachable:
    """The functions, methods and constants that are reachable by name from a function.

    Only code of the function's own package is followed: comparisons in the standard library are not about the objects.

    Attributes:
        codes: the code objects that may run.
        values: constants, defaults, closure cells and globals that the code names.
        tables: the globals of the modules of this code.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.codes: list[types.CodeType] = []
        self.values: list[Any] = []
        self.tables: list[dict[str, Any]] = []
        self._visited: set[int] = set()
        self._alive: list[Any] = []  # keeps objects alive, so that their ids are not reused
        self._package = _package_of(function)
        self._follow(function, 0)

    def _follow(self, value: Any, depth: int) -> None:
        if depth > _DEEPEST or len(self.codes) > _MOST_CODES or id(value) in self._visited:
            return
        self._visited.add(id(value))
        self._alive.append(value)
        if isinstance(value, functools.partial):
            for part in (value.func, *value.args, *value.keywords.values()):
                self._follow(part, depth)
        elif isinstance(value, (staticmethod, classmethod)):
            self._follow(value.__func__, depth)
        elif isinstance(value, property):
            self._follow(value.fget, depth)
        elif isinstance(value, functools.cached_property):
            self._follow(value.func, depth)
        elif isinstance(value, types.MethodType):
            self._follow(value.__func__, depth)
            self._follow(value.__self__, depth)
        elif isinstance(value, types.FunctionType):
            self._function(value, depth)
        elif hasattr(value, "__wrapped__"):
            self._follow(value.__wrapped__, depth)
        elif isinstance(value, type):
            if self._is_own(value):
                for name, member in vars(value).items():
                    if name not in _ABOUT_CLASSES:
                        self._follow(member, depth + 1)
        elif self._is_own(type(value)):
            self._follow(type(value), depth)
            for part in list(getattr(value, "__dict__", {}).values()):
                self._follow(part, depth + 1)
        else:
            self.values.append(value)
            for part in nested(value):
                if callable(part) and part is not value:  # a table of functions
                    self._follow(part, depth + 1)

    def _function(self, function: types.FunctionType, depth: int) -> None:
        if not self._is_own(function):
            return
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._follow(value, depth + 1)
        for cell in function.__closure__ or ():
            try:
                self._follow(cell.cell_contents, depth + 1)
            except ValueError:
                continue  # not filled yet
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None:
            self._follow(wrapped, depth)
        self._code(function.__code__, function.__globals__, function.__doc__, depth)

    def _code(self, code: types.CodeType, names: dict[str, Any], doc: str | None, depth: int) -> None:
        self.codes.append(code)
        if not any(table is names for table in self.tables):
            self.tables.append(names)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant, names, _doc_of(constant), depth)
            elif constant is not doc:
                self.values.append(constant)
        for name in code.co_names:
            if name not in names or name in _ABOUT_MODULES:
                continue
            value = names[name]
            if isinstance(value, types.ModuleType):
                if self._is_own(value):
                    for attribute in code.co_names:
                        self._follow(getattr(value, attribute, None), depth + 1)
            else:
                self._follow(value, depth + 1)

    def _is_own(self, value: Any) -> bool:
        name = getattr(value, "__name__" if isinstance(value, types.ModuleType) else "__module__", None) or ""
        return name.partition(".")[0] == self._package


def nested(value: Any, depth: int = 4) -> Iterator[Any]:
    """Yield the scalars in ``value``: itself, or the items of its containers, down to ``depth`` levels."""
    if depth == 0:
        return
    if isinstance(value, dict):
        for key, item in list(value.items())[:60]:
            yield from nested(key, depth - 1)
            yield from nested(item, depth - 1)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in list(value)[:60]:
            yield from nested(item, depth - 1)
    else:
        yield value


def _doc_of(code: types.CodeType) -> Any:
    """Return the docstring of a nested function; before Python 3.14, ``None`` is the first constant without one."""
    may_have_one = code.co_flags & getattr(inspect, "CO_HAS_DOCSTRING", inspect.CO_OPTIMIZED)
    return code.co_consts[0] if may_have_one and code.co_consts and not code.co_name.startswith("<") else None


def _package_of(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    module = getattr(function, "__module__", None) or type(function).__module__
    package = str(module).partition(".")[0]
    return package if package not in sys.stdlib_module_names else "<none>"
