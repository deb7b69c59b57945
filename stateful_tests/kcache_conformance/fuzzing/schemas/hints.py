"""Hints of the default Kubernetes schemas about a field: by the object's kind, its type's name, or the field's name."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from .kinds import kinds
from .kubernetes import ANNOTATIONS, LABELS, QUANTITIES, Manner, metadata
from .schema import Array, Boolean, Choice, Integer, Map, Record, Schema, Text

INT64 = Integer(-(2**63), 2**63 - 1)

_MAPS: dict[str, Map] = {
    **dict.fromkeys(("labels", "matchLabels", "nodeSelector", "match_labels", "node_selector"), LABELS),
    "annotations": ANNOTATIONS,
    **dict.fromkeys(("requests", "limits", "capacity", "allocatable", "hard", "used", "overhead"), QUANTITIES),
}


def type_named(name: str, manner: Manner) -> Record | None:
    """The default schema of a type by its name in the API, say ``Pod``, ``PodSpec`` or ``ObjectMeta``."""
    return _records(manner).get(name)


def map_named(name: str) -> Map | None:
    """The schema of a map that is always called so, say ``labels`` or ``limits``."""
    return _MAPS.get(name)


def value_named(name: str, manner: Manner) -> Text | Choice | Integer | Boolean | None:
    """The schema of plain values called ``name``, if that is the same wherever the default schemas have it."""
    schemas = _values(manner).get(name, ())
    return schemas[0] if len(schemas) == 1 else None


def field_in(known: Schema | None, name: str) -> Schema | None:
    """The schema of a field of a known record."""
    if not isinstance(known, Record):
        return None
    return next((field.schema for field in known.fields if field.name == name), None)


def item_in(known: Schema | None) -> Schema | None:
    """The schema of the items of a known list."""
    return known.item if isinstance(known, Array) else None


@functools.cache
def _records(manner: Manner) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for record in _walk(manner):
        found.setdefault(record.name, record)
    return found


@functools.cache
def _values(manner: Manner) -> dict[str, tuple[Text | Choice | Integer | Boolean, ...]]:
    found: dict[str, tuple[Text | Choice | Integer | Boolean, ...]] = {}
    for record in _walk(manner):
        for field in record.fields:
            if isinstance(field.schema, Text | Choice | Integer | Boolean) and field.schema not in found.get(
                field.name, ()
            ):
                found[field.name] = (*found.get(field.name, ()), field.schema)
    return found


def _walk(manner: Manner) -> Iterator[Record]:
    waiting: list[Schema] = [metadata(manner), *kinds(manner)]
    while waiting:
        schema = waiting.pop(0)
        if isinstance(schema, Record):
            yield schema
            waiting.extend(field.schema for field in schema.fields)
        elif isinstance(schema, Array):
            waiting.append(schema.item)
