"""A few small values of a schema, as trees: always the same values, for small programs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final

from ..objects.trees import Tree, class_name, encode
from .fixed_tuples import tuple_of_size
from .schema import (
    Anything,
    Array,
    Boolean,
    Bytes,
    Choice,
    Either,
    Integer,
    Map,
    Moment,
    Nothing,
    Number,
    Record,
    Schema,
    SchemaError,
    Standard,
    Style,
    Text,
    resolved,
)
from .standard_types import MAKINGS, standard_name

_FEW: Final = 2
_DEEPEST: Final = 4
_DECLARED: Final = ("__dataclass_fields__", "_fields", "model_fields")
"""Attributes of classes that are called with their fields: data classes, named tuples, pydantic models."""
_NOTHING: Final = object()


def few_values(schema: Schema, depth: int = 0) -> Sequence[Tree]:
    """Return distinct values, the smallest first; none if none are known.

    Raises:
        SchemaError: no value is known for a required field.
    """
    match resolved(schema):
        case Text(pattern=None, least=least, most=most) as text:
            return text.examples[: _FEW + 1] or [(letter * max(1, least))[:most] for letter in "abc"]
        case Integer(least, most):
            first = next(one for one in (1, least, most) if one is not None and _is_within(one, least, most))
            return [number for number in range(first, first + 3) if _is_within(number, least, most)]
        case Number(least, most):
            return [
                number for number in (0.5, 2.0, least, most) if number is not None and _is_within(number, least, most)
            ]
        case Boolean():
            return [False, True]
        case Nothing():
            return [None]
        case Anything():
            return [1, 2, 3]
        case Moment():
            return [{"$": "datetime", "text": f"2024-01-0{day}T00:00:00+00:00"} for day in (1, 2)]
        case Bytes():
            return [{"$": "bytes", "hex": value.hex()} for value in (b"a", b"b")]
        case Standard(kind) if kind in MAKINGS:
            arguments = [encode(argument) for argument in MAKINGS[kind].simplest]
            return [{"$": "standard", "class": standard_name(kind), "arguments": arguments}]
        case Choice(values):
            return [encode(value) for value in values]
        case Either(options):
            turns = itertools.zip_longest(*(few_values(one, depth)[:_FEW] for one in options), fillvalue=_NOTHING)
            return [value for turn in turns for value in turn if value is not _NOTHING]
        case Array() as array:
            return _arrays(array, depth)
        case Map(key, value):
            keys, elements = (few_values(one, depth + 1) if depth < _DEEPEST else [] for one in (key, value))
            rows = _rows([len(keys), len(elements)]) if keys and elements else ()
            return [_dict(keys[row[0]], elements[row[1]]) for row in rows] or [{}]
        case Record() as record:
            return _records(record, depth)
    return []


def _is_within(number: float, least: float | None, most: float | None) -> bool:
    return (least is None or number >= least) and (most is None or number <= most)


def _dict(key: Tree, value: Tree) -> Tree:
    return {key: value} if isinstance(key, str) else {"$": "dict", "items": [[key, value]]}


def _arrays(array: Array, depth: int) -> Sequence[Tree]:
    items = few_values(array.item, depth + 1)[:_FEW] if depth < _DEEPEST and array.most != 0 else ()
    size = max(1, array.least)
    arrays = [[item] * size for item in items]
    if len(items) > 1 and (array.most is None or array.most > 1):
        arrays.append([items[0], *[items[1]] * max(1, size - 1)])
    arrays = arrays or [[]]
    return arrays if array.container is list else [{"$": array.container.__name__, "items": items} for items in arrays]


def _records(record: Record, depth: int) -> Sequence[Tree]:
    """Return instances with the required fields, or else with the first: ``(1, "a")``, ``(2, "b")``, ``(1, "b")``."""
    chosen = [field for field in record.fields if not field.may_be_missing] or list(record.fields[:1])
    if depth > _DEEPEST:
        return []
    values: list[Sequence[Tree]] = []
    for field in chosen:
        known = few_values(field.schema, depth + 1) or ([None] if field.may_be_none else [])
        if not known:
            raise SchemaError(f"field {field.name!r} of class {record.name} has a type whose values are not known")
        values.append(known)
    rows = _rows(list(map(len, values)))
    return [
        _instance(record, {field.name: own[at] for field, own, at in zip(chosen, values, row, strict=True)})
        for row in rows
    ]


def _rows(sizes: Sequence[int]) -> Sequence[tuple[int, ...]]:
    """Return two or three distinct rows of positions: for each part, the position of its value."""
    last = (2,) if len(sizes) == 1 else tuple(min(position, 1) for position in range(len(sizes)))
    rows = [tuple(0 for _ in sizes), tuple(1 for _ in sizes), last]
    return list(dict.fromkeys(tuple(at % size for at, size in zip(row, sizes, strict=True)) for row in rows))


def _instance(record: Record, fields: dict[str, Tree]) -> Tree:
    kind: Any = record.make
    if record.style is Style.ITEMS:
        return fields
    if kind is tuple_of_size(len(fields)):
        return {"$": "tuple", "items": list(fields.values())}
    if not any(hasattr(kind, mark) or hasattr(getattr(kind, "__wrapped__", None), mark) for mark in _DECLARED):
        raise SchemaError(f"the class {record.name} is not a data class")
    return {"$": "object", "class": class_name(kind), "fields": fields}
