"""What the default Kubernetes shapes know of a field: by the object's kind, its type's name, or the field's name."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from .kinds import kinds
from .kubernetes import ANNOTATIONS, LABELS, QUANTITIES, Manner, metadata
from .shape import Choice, Flag, Listing, Record, Shape, Table, Text, Whole

INT64 = Whole(-(2**63), 2**63 - 1)

_TABLES: dict[str, Table] = {
    **dict.fromkeys(("labels", "matchLabels", "nodeSelector", "match_labels", "node_selector"), LABELS),
    "annotations": ANNOTATIONS,
    **dict.fromkeys(("requests", "limits", "capacity", "allocatable", "hard", "used", "overhead"), QUANTITIES),
}


def type_named(name: str, manner: Manner) -> Record | None:
    """The default shape of a type by its name in the API, say ``Pod``, ``PodSpec`` or ``ObjectMeta``."""
    return _records(manner).get(name)


def table_named(name: str) -> Table | None:
    """The shape of a table that is always called so, say ``labels`` or ``limits``."""
    return _TABLES.get(name)


def value_named(name: str, manner: Manner) -> Text | Choice | Whole | Flag | None:
    """The shape of plain values called ``name``, if that is the same wherever the default shapes have it."""
    shapes = _values(manner).get(name, ())
    return shapes[0] if len(shapes) == 1 else None


def field_in(known: Shape | None, name: str) -> Shape | None:
    """What is known of a field of a known record."""
    if not isinstance(known, Record):
        return None
    return next((field.shape for field in known.fields if field.name == name), None)


def item_in(known: Shape | None) -> Shape | None:
    """What is known of the items of a known list."""
    return known.item if isinstance(known, Listing) else None


@functools.cache
def _records(manner: Manner) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for record in _walk(manner):
        found.setdefault(record.name, record)
    return found


@functools.cache
def _values(manner: Manner) -> dict[str, tuple[Text | Choice | Whole | Flag, ...]]:
    found: dict[str, tuple[Text | Choice | Whole | Flag, ...]] = {}
    for record in _walk(manner):
        for field in record.fields:
            if isinstance(field.shape, Text | Choice | Whole | Flag) and field.shape not in found.get(field.name, ()):
                found[field.name] = (*found.get(field.name, ()), field.shape)
    return found


def _walk(manner: Manner) -> Iterator[Record]:
    waiting: list[Shape] = [metadata(manner), *kinds(manner)]
    while waiting:
        shape = waiting.pop(0)
        if isinstance(shape, Record):
            yield shape
            waiting.extend(field.shape for field in shape.fields)
        elif isinstance(shape, Listing):
            waiting.append(shape.item)
