"""Bounds in annotations, in the notation of pydantic and ``annotated_types``; neither is imported."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from .schema import Array, Either, Integer, Map, Number, Schema, Text


def constrained(schema: Schema, metadata: Iterable[Any]) -> Schema:
    """Return ``schema`` with the bounds in ``metadata``; other metadata is ignored."""
    for name, bound in _bounds(metadata):
        schema = _with(schema, name, bound)
    return schema


def above(least: float | None, *bounds: float | None) -> float | None:
    """Return the greatest lower bound; ``None`` if there is none."""
    return max((bound for bound in (least, *bounds) if bound is not None), default=None)


def below(most: float | None, *bounds: float | None) -> float | None:
    """Return the smallest upper bound; ``None`` if there is none."""
    return min((bound for bound in (most, *bounds) if bound is not None), default=None)


def integer(schema: Integer, least: float | None, most: float | None) -> Integer:
    """Return ``schema`` with further inclusive bounds, which need not be integers."""
    lower = above(schema.least, None if least is None else math.ceil(least))
    upper = below(schema.most, None if most is None else math.floor(most))
    return Integer(None if lower is None else int(lower), None if upper is None else int(upper))


def next_above(bound: float, *, is_integer: bool) -> float:
    """Return the least number that is greater than ``bound``."""
    return math.floor(bound) + 1 if is_integer else math.nextafter(bound, math.inf)


def next_below(bound: float, *, is_integer: bool) -> float:
    """Return the greatest number that is less than ``bound``."""
    return math.ceil(bound) - 1 if is_integer else math.nextafter(bound, -math.inf)


def _bounds(metadata: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    for one in metadata:
        inner = getattr(one, "metadata", None)
        if isinstance(inner, Sequence) and not isinstance(inner, str):
            yield from _bounds(inner)
        for name in ("ge", "gt", "le", "lt", "min_length", "max_length", "pattern"):
            bound = getattr(one, name, None)
            if isinstance(bound, int | float | str | re.Pattern):
                yield name, bound


def _with(schema: Schema, name: str, bound: Any) -> Schema:
    match schema:
        case Either():
            return replace(schema, options=tuple(_with(option, name, bound) for option in schema.options))
        case Integer() | Number():
            return _within(schema, name, bound)
        case Text() if name == "pattern":
            return replace(schema, pattern=bound.pattern if isinstance(bound, re.Pattern) else bound)
        case Text() | Array() | Map() if name == "min_length":
            return replace(schema, least=max(schema.least, bound))
        case Text() | Array() | Map() if name == "max_length":
            return replace(schema, most=bound if schema.most is None else min(schema.most, bound))
        case _:
            return schema


def _within(schema: Integer | Number, name: str, bound: Any) -> Schema:
    is_integer = isinstance(schema, Integer)
    least, most = None, None
    match name:
        case "ge":
            least = bound
        case "gt":
            least = next_above(bound, is_integer=is_integer)
        case "le":
            most = bound
        case "lt":
            most = next_below(bound, is_integer=is_integer)
    if isinstance(schema, Integer):
        return integer(schema, least, most)
    return Number(above(schema.least, least), below(schema.most, most))
