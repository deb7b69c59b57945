"""Tools for all sources of schemas: choices between schemas, removal of ``None``, and the check for finite values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from .schema import Array, Choice, Either, Given, Later, Map, Nothing, Record, Schema, SchemaError, resolved


def either(options: Iterable[Schema]) -> Schema:
    """Return a choice of ``options``: nested choices are flattened, duplicates removed; a single option is returned."""
    flat: list[Schema] = []
    for option in options:
        for one in option.options if isinstance(option, Either) else (option,):
            if not any(_is_same(one, other) for other in flat):
                flat.append(one)
    if not flat:
        raise SchemaError("a choice without any option has no values")
    return flat[0] if len(flat) == 1 else Either(tuple(flat))


def without_none(schema: Schema) -> tuple[Schema, bool]:
    """Return ``schema`` without ``None``, and whether ``None`` was allowed; a schema of only ``None`` is kept."""
    if isinstance(schema, Choice) and None in schema.values and len(schema.values) > 1:
        return replace(schema, values=tuple(value for value in schema.values if value is not None)), True
    if isinstance(schema, Either):
        split = [without_none(option) for option in schema.options if not isinstance(option, Nothing)]
        allowed = len(split) < len(schema.options) or any(is_allowed for _, is_allowed in split)
        return (either(option for option, _ in split), allowed) if split else (Nothing(), True)
    return schema, isinstance(schema, Nothing) or (isinstance(schema, Choice) and None in schema.values)


def require_finite(schema: Schema, what: str) -> Schema:
    """Return ``schema`` if it has a finite object.

    Raises:
        SchemaError: each object would contain another object of its own schema, without end.
    """
    if not _is_finite(schema, frozenset(), {}):
        raise SchemaError(
            f"{what} always contains another object of its own type, so every object would be infinite; "
            "make a field of this cycle optional"
        )
    return schema


def notes_in(schema: Schema) -> Iterator[str]:
    """Yield the notes of all records, each record once. ``Later`` is skipped: it occurs elsewhere, or is a client's."""
    stack, visited = [schema], {}
    while stack:
        one = stack.pop()
        if isinstance(one, Later) or id(one) in visited:
            continue
        visited[id(one)] = one
        match one:
            case Record():
                yield from one.notes
                stack += [field.schema for field in reversed(one.fields)]
            case Either(options):
                stack += reversed(options)
            case Array(item):
                stack.append(item)
            case Map(key, value):
                stack += [value, key]


def _is_finite(schema: Schema, above: frozenset[int], finite: dict[int, Schema]) -> bool:
    schema = resolved(schema)
    if id(schema) in finite:
        return True
    if id(schema) in above:
        return False
    inner = above | {id(schema)}
    match schema:
        case Record():
            needed = [f.schema for f in schema.fields if not (f.may_be_missing or f.may_be_none)]
            answer = all(_is_finite(one, inner, finite) for one in needed)
        case Either():
            answer = any(_is_finite(one, inner, finite) for one in schema.options)
        case Array():
            answer = schema.least == 0 or _is_finite(schema.item, inner, finite)
        case Map():
            answer = schema.least == 0 or _is_finite(schema.value, inner, finite)
        case _:
            answer = True
    if answer:
        finite[id(schema)] = schema
    return answer


def _is_same(one: Schema, other: Schema) -> bool:
    # 1 == True, and so choices of 1 and of True are equal: compare their reprs.
    if isinstance(one, Given | Later) or isinstance(other, Given | Later):
        return one is other
    return one == other and repr(one) == repr(other)
