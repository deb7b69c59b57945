"""One plain, complete object of a shape."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from .shape import (
    Anything,
    Blob,
    Choice,
    Either,
    Flag,
    Format,
    Fraction,
    Listing,
    Moment,
    Record,
    Shape,
    Style,
    Table,
    Text,
    Whole,
    resolved,
)

_DEEPEST = 12
_TEXTS = {
    Format.FREE: "web-1",
    Format.NAME: "web-1",
    Format.LABEL: "web",
    Format.LABEL_KEY: "app",
    Format.LABEL_VALUE: "web",
    Format.QUANTITY: "1",
    Format.DIGITS: "42",
    Format.TIME: "2024-01-01T00:00:00Z",
}


def typical(shape: Shape, depth: int = 0) -> Any:
    """An object with every field, one element in every list, and nothing unusual; ``None`` beyond some depth."""
    if depth > _DEEPEST:
        return None
    match resolved(shape):
        case Text() as text:
            return text.examples[0] if text.examples else _TEXTS[text.format]
        case Whole(least):
            return max(1, least or 0)
        case Fraction(least):
            return max(1.0, least or 0.0)
        case Flag():
            return True
        case Moment():
            return datetime(2024, 1, 1, tzinfo=UTC)
        case Blob():
            return b"web"
        case Choice(values):
            return values[0]
        case Either(options):
            return typical(options[0], depth)
        case Listing() as listing:
            return listing.container([typical(listing.item, depth + 1)])
        case Table() as table:
            return {typical(table.key, depth + 1): typical(table.value, depth + 1)}
        case Anything():
            return "web-1"
        case Record() as record:
            fields = {field.name: typical(field.shape, depth + 1) for field in record.fields}
            if record.style is Style.ITEMS:
                return fields
            return SimpleNamespace(**fields) if record.make is None else record.make(**fields)
    return None
