"""Bounds that annotations carry, as pydantic and ``annotated_types`` write them; neither is imported."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from .shape import Either, Fraction, Listing, Shape, Table, Text, Whole


def constrained(shape: Shape, metadata: Iterable[Any]) -> Shape:
    """``shape`` within the bounds in ``metadata``; whatever says nothing about values is passed over."""
    for name, bound in _bounds(metadata):
        shape = _with(shape, name, bound)
    return shape


def above(least: float | None, *bounds: float | None) -> float | None:
    """The greatest of the lower bounds that there are."""
    return max((bound for bound in (least, *bounds) if bound is not None), default=None)


def below(most: float | None, *bounds: float | None) -> float | None:
    """The smallest of the upper bounds that there are."""
    return min((bound for bound in (most, *bounds) if bound is not None), default=None)


def whole(shape: Whole, least: float | None, most: float | None) -> Whole:
    """``shape`` within inclusive bounds, which need not be whole themselves."""
    lower = above(shape.least, None if least is None else math.ceil(least))
    upper = below(shape.most, None if most is None else math.floor(most))
    return Whole(None if lower is None else int(lower), None if upper is None else int(upper))


def next_above(bound: float, *, is_whole: bool) -> float:
    """The least number that is greater than ``bound``."""
    return math.floor(bound) + 1 if is_whole else math.nextafter(bound, math.inf)


def next_below(bound: float, *, is_whole: bool) -> float:
    """The greatest number that is less than ``bound``."""
    return math.ceil(bound) - 1 if is_whole else math.nextafter(bound, -math.inf)


def _bounds(metadata: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    for one in metadata:
        inner = getattr(one, "metadata", None)
        if isinstance(inner, Sequence) and not isinstance(inner, str):
            yield from _bounds(inner)
        for name in ("ge", "gt", "le", "lt", "min_length", "max_length", "pattern"):
            bound = getattr(one, name, None)
            if isinstance(bound, int | float | str | re.Pattern):
                yield name, bound


def _with(shape: Shape, name: str, bound: Any) -> Shape:
    match shape:
        case Either():
            return replace(shape, options=tuple(_with(option, name, bound) for option in shape.options))
        case Whole() | Fraction():
            return _within(shape, name, bound)
        case Text() if name == "pattern":
            return replace(shape, pattern=bound.pattern if isinstance(bound, re.Pattern) else bound)
        case Text() | Listing() | Table() if name == "min_length":
            return replace(shape, least=max(shape.least, bound))
        case Text() | Listing() | Table() if name == "max_length":
            return replace(shape, most=bound if shape.most is None else min(shape.most, bound))
        case _:
            return shape


def _within(shape: Whole | Fraction, name: str, bound: Any) -> Shape:
    is_whole = isinstance(shape, Whole)
    least, most = None, None
    match name:
        case "ge":
            least = bound
        case "gt":
            least = next_above(bound, is_whole=is_whole)
        case "le":
            most = bound
        case "lt":
            most = next_below(bound, is_whole=is_whole)
    if isinstance(shape, Whole):
        return whole(shape, least, most)
    return Fraction(above(shape.least, least), below(shape.most, most))
