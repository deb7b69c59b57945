"""What every source of shapes needs: choices between shapes, ``None`` taken out of them, and whether one can end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .shape import Choice, Either, Given, Later, Listing, Nothing, Record, Shape, ShapeError, Table, resolved


def either(options: Iterable[Shape]) -> Shape:
    """Any of ``options``: nested choices are joined, equal ones are there once, a single one is itself."""
    found: list[Shape] = []
    for option in options:
        for one in option.options if isinstance(option, Either) else (option,):
            if not any(_is_same(one, other) for other in found):
                found.append(one)
    if not found:
        raise ShapeError("a choice without any option has no values")
    return found[0] if len(found) == 1 else Either(tuple(found))


def without_none(shape: Shape) -> tuple[Shape, bool]:
    """``shape`` without ``None``, and whether ``None`` was allowed; of nothing but ``None``, the shape remains."""
    if isinstance(shape, Choice) and None in shape.values and len(shape.values) > 1:
        return replace(shape, values=tuple(value for value in shape.values if value is not None)), True
    if isinstance(shape, Either):
        split = [without_none(option) for option in shape.options if not isinstance(option, Nothing)]
        allowed = len(split) < len(shape.options) or any(is_allowed for _, is_allowed in split)
        return (either(option for option, _ in split), allowed) if split else (Nothing(), True)
    return shape, isinstance(shape, Nothing) or (isinstance(shape, Choice) and None in shape.values)


def require_finite(shape: Shape, what: str) -> Shape:
    """``shape``, if it has a finite object.

    Raises:
        ShapeError: each object would hold another one of its own shape, and so on for ever.
    """
    if not _is_finite(shape, frozenset(), {}):
        raise ShapeError(
            f"{what} always holds another object of its own type, so that no object ever ends; "
            "let a field on the way be optional"
        )
    return shape


def _is_finite(shape: Shape, above: frozenset[int], finite: dict[int, Shape]) -> bool:
    shape = resolved(shape)
    if id(shape) in finite:
        return True
    if id(shape) in above:
        return False
    inner = above | {id(shape)}
    match shape:
        case Record():
            needed = [f.shape for f in shape.fields if not (f.may_be_missing or f.may_be_none)]
            answer = all(_is_finite(one, inner, finite) for one in needed)
        case Either():
            answer = any(_is_finite(one, inner, finite) for one in shape.options)
        case Listing():
            answer = shape.least == 0 or _is_finite(shape.item, inner, finite)
        case Table():
            answer = shape.least == 0 or _is_finite(shape.value, inner, finite)
        case _:
            answer = True
    if answer:
        finite[id(shape)] = shape
    return answer


def _is_same(one: Shape, other: Shape) -> bool:
    # 1 == True, and so are the choices of either: what they look like tells them apart.
    if isinstance(one, Given | Later) or isinstance(other, Given | Later):
        return one is other
    return one == other and repr(one) == repr(other)
