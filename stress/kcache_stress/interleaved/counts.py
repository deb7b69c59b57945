"""Counts of a test, which are divided to get a shorter test: two calls in a loop often show the fault of a thousand.

A count is a whole number in the code of the module of the test, or the value of a global variable of the module. All
counts that are multiples of a divisor are divided by it. With the divisor 500, ``for _ in range(1_000)`` runs two
times, and ``assert total == 4_000`` expects 8. The smaller test is tried: it must pass if no thread is interrupted.

Prior art. Delta debugging reduces the input, not the program: A. Zeller, R. Hildebrandt: Simplifying and Isolating
Failure-Inducing Input (2002). Property-based tests draw their sizes and so can shrink them; these tests draw none.

Alternatives. A rewritten source would show the reader a smaller test, but a report names the lines of the real file.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from ..modules.foreign_code import codes_within

_LEAST: Final = 10
"""Smallest count. Smaller numbers are mostly numbers of threads, or the data that the threads work on."""

_RESULTS: Final = (1, 2, 3, 5, 10, 50)
"""Values that a count may have after the division."""


def divisors(module: ModuleType) -> list[int]:
    """Return the divisors for the counts of a module, sorted by the sum of the divided counts: smallest sum first.

    Args:
        module: module of the test.
    """
    counts = {count for function in _functions(module) for count in _counts(function)}
    counts |= {value for value in vars(module).values() if _is_count(value)}
    candidates = {
        count // result for count in counts for result in _RESULTS if count % result == 0 and count // result > 1
    }
    sums = {divisor: sum(_divided(count, divisor) for count in counts) for divisor in candidates}
    return sorted(candidates, key=lambda divisor: (sums[divisor], -divisor))


@contextmanager
def divided(
    module: ModuleType, divisor: int, replaced: Callable[[CodeType, CodeType], None] = lambda *_: None
) -> Iterator[None]:
    """Context in which the counts of a module are divided.

    Args:
        module: module of the test, or a private copy of the module.
        divisor: the counts that are multiples of it are divided by it.
        replaced: called with each code object of the module, and with the code object that replaces it.
    """
    functions = [(function, function.__code__, function.__defaults__) for function in _functions(module)]
    names = {name: value for name, value in vars(module).items() if _is_count(value)}
    try:
        for function, code, defaults in functions:
            function.__code__ = _smaller(code, divisor)
            for pair in zip(codes_within(code), codes_within(function.__code__), strict=True):
                replaced(*pair)
            if defaults is not None:
                function.__defaults__ = tuple(_divided(value, divisor) for value in defaults)
        vars(module).update({name: _divided(value, divisor) for name, value in names.items()})
        yield
    finally:
        for function, code, defaults in functions:
            function.__code__, function.__defaults__ = code, defaults
        vars(module).update(names)


def _functions(module: ModuleType) -> list[FunctionType]:
    """Return the functions and methods that a module defines; wrapped functions are unwrapped."""
    functions: dict[int, FunctionType] = {}
    holders: list[Any] = [module]
    for holder in holders:
        for value in list(vars(holder).values()):
            if isinstance(value, type) and value.__module__ == module.__name__ and value not in holders:
                holders.append(value)
            inner = inspect.unwrap(getattr(value, "__func__", value)) if callable(value) else value
            if isinstance(inner, FunctionType) and inner.__globals__ is vars(module):
                functions[id(inner)] = inner
    return list(functions.values())


def _counts(function: FunctionType) -> Iterator[int]:
    yield from (value for value in function.__defaults__ or () if _is_count(value))
    for code in codes_within(function.__code__):
        yield from filter(_is_count, code.co_consts)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= _LEAST


def _divided(value: Any, divisor: int) -> Any:
    return value // divisor if _is_count(value) and value % divisor == 0 else value


@functools.lru_cache(maxsize=2_000)
def _smaller(code: CodeType, divisor: int) -> CodeType:
    """Return a copy of the code with divided counts, also in the code of its inner functions."""
    consts = (_smaller(one, divisor) if isinstance(one, CodeType) else _divided(one, divisor) for one in code.co_consts)
    return code.replace(co_consts=tuple(consts))
