"""Calls index functions and checks what they return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from .errors import IndexFuncError, InvalidIndexerError
from .interfaces import IndexFunc

T = TypeVar("T")

Values = str | tuple[str, ...]
"""The distinct values of one object under one index. A single one stands for itself: nearly all are single."""


Placement = tuple[Values, ...]
"""The values of one object under each index, in the order of the indices: where its key stands."""

Functions = tuple[tuple[str, IndexFunc[T]], ...]
"""Index functions with their names: a tuple is quicker to go through than a dict, and each write does."""


def values_by_index(functions: Functions[T], key: str, obj: T) -> Placement:
    """The values of ``obj`` under each index, in the order of ``functions``.

    Raises:
        IndexFuncError: a function failed or returned something else than a list of ``str``.
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
    """Distinct values as they are remembered."""
    return values[0] if len(values) == 1 else tuple(values)


def checked_values(returned: Sequence[str] | None) -> list[str]:
    """The distinct values that an index function returned, as a new list of exact ``str``.

    Raises:
        TypeError: ``returned`` is no list or tuple of ``str``; the message says what it is.
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
    """A copy of ``indexers``.

    Raises:
        InvalidIndexerError: one of them cannot be called.
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
