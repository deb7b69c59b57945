"""Values of index functions: the calls, and the checks of their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from .errors import IndexFuncError, InvalidIndexerError
from .interfaces import IndexFunc

T = TypeVar("T")

Values = str | tuple[str, ...]
"""The distinct values of one object under one index. A single value, the usual case, is stored without a tuple."""


Placement = tuple[Values, ...]
"""The values of one object under each index, in the order of the indices: they locate its key in the indices."""

Functions = tuple[tuple[str, IndexFunc[T]], ...]
"""Index functions with their names. Each write iterates over them, and a tuple is iterated faster than a dict."""


def values_by_index(functions: Functions[T], key: str, obj: T) -> Placement:
    """Return the values of ``obj`` under each index, in the order of ``functions``.

    Raises:
        IndexFuncError: a function failed, or its result is no list of ``str``.
    """
    result: list[Values] = []
    for name, func in functions:
        try:
            returned = func(obj)
            if type(returned) is list and len(returned) == 1 and type(returned[0]) is str:
                result.append(returned[0])
            else:
                result.append(packed(checked_values(returned)))
        except Exception as error:
            raise IndexFuncError(key, name, error) from error
    return tuple(result)


def packed(values: list[str]) -> Values:
    """Convert distinct values into their stored form: a single ``str``, or a tuple."""
    return values[0] if len(values) == 1 else tuple(values)


def checked_values(returned: Sequence[str] | None) -> list[str]:
    """Return the distinct values of an index function's result, as a new list of exact ``str``.

    Raises:
        TypeError: ``returned`` is no list or tuple of ``str``; the message names its type.
    """
    if returned is None:
        return []
    if not isinstance(returned, (list, tuple)):
        raise TypeError(f"an index function must return a list of str, not {_described(returned)}")
    for value in returned:
        if not isinstance(value, str):
            raise TypeError(f"an index function must return a list of str, but it holds {_described(value)}")
    return list(dict.fromkeys(str.__str__(value) for value in returned))


def checked_indexers(indexers: Mapping[str, IndexFunc[T]] | None) -> dict[str, IndexFunc[T]]:
    """Return a copy of ``indexers``.

    Raises:
        InvalidIndexerError: one of the functions is not callable.
    """
    copy = dict(indexers or {})
    for name, func in copy.items():
        if not callable(func):
            raise InvalidIndexerError(name, func)
    return copy


def _described(value: object) -> str:
    if isinstance(value, str):
        return f"the str {value!r}; put it into a list"
    return f"a {type(value).__name__}"
