"""Tuples whose items have a type each: records that are tuples, as no other schema tells one position from another."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

from .schema import Array, Field, Record, Schema, Style

_PREFIX = "Tuple"


def fixed_tuple(items: Sequence[Schema]) -> Schema:
    """The schema of tuples with these items, each with its own schema."""
    if all(item == items[0] for item in items):
        item = items[0] if items else Array(Record(()), most=0)
        return Array(item, len(items), len(items), tuple)
    kind = tuple_of_size(len(items))
    fields = tuple(Field(f"item_{n}", item, may_be_missing=False, may_be_none=False) for n, item in enumerate(items))
    return Record(fields, Style.CLASS, kind, kind.__name__)


@functools.cache
def tuple_of_size(size: int) -> type[tuple[Any, ...]]:
    """A tuple whose items can be given by keyword: ``item_0`` and so on. It equals a plain tuple, and prints as one."""
    names = tuple(f"item_{n}" for n in range(size))

    def new(cls: type[tuple[Any, ...]], **items: Any) -> Any:
        return tuple.__new__(cls, (items[name] for name in names))

    def reduced(self: tuple[Any, ...]) -> Any:
        return _restored, (tuple(self),)

    namespace: dict[str, Any] = {
        "__module__": __name__,
        "__new__": new,
        "__reduce__": reduced,
        "__slots__": (),
        "_fields": names,
        **{name: property(operator.itemgetter(n)) for n, name in enumerate(names)},
    }
    return type(f"{_PREFIX}{size}", (tuple,), namespace)


def _restored(items: tuple[Any, ...]) -> Any:
    return tuple_of_size(len(items))(**{f"item_{n}": item for n, item in enumerate(items)})


def __getattr__(name: str) -> Any:
    """So that such a class is found by its name, also in another process."""
    size = name.removeprefix(_PREFIX)
    if name.startswith(_PREFIX) and size.isdecimal():
        return tuple_of_size(int(size))
    raise AttributeError(f"module {__name__} has no attribute {name}")
