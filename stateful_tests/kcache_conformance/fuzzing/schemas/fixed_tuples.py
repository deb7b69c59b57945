"""Tuples whose items have different types, as records: no other schema distinguishes positions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

from .schema import Array, Field, Record, Schema, Style

_PREFIX = "Tuple"


def fixed_tuple(items: Sequence[Schema]) -> Schema:
    """Return the schema of tuples whose items have these schemas."""
    if all(item == items[0] for item in items):
        item = items[0] if items else Array(Record(()), most=0)
        return Array(item, len(items), len(items), tuple)
    kind = tuple_of_size(len(items))
    fields = tuple(Field(f"item_{n}", item, may_be_missing=False, may_be_none=False) for n, item in enumerate(items))
    return Record(fields, Style.CLASS, kind, kind.__name__)


@functools.cache
def tuple_of_size(size: int) -> type[tuple[Any, ...]]:
    """Create a tuple class whose items are passed by keyword: ``item_0`` ... It is equal to and prints as a tuple."""
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
    """Return the tuple class of this name, so that it can be loaded by name in any process."""
    size = name.removeprefix(_PREFIX)
    if name.startswith(_PREFIX) and size.isdecimal():
        return tuple_of_size(int(size))
    raise AttributeError(f"module {__name__} has no attribute {name}")
