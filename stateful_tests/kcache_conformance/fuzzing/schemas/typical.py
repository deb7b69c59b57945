"""One plain, complete object of a schema."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from .schema import (
    Anything,
    Array,
    Boolean,
    Bytes,
    Choice,
    Either,
    Format,
    Integer,
    Map,
    Moment,
    Number,
    Record,
    Schema,
    Style,
    Text,
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


def typical(schema: Schema, depth: int = 0) -> Any:
    """Return an object with all fields, one element per list, and usual values; ``None`` below the maximum depth."""
    if depth > _DEEPEST:
        return None
    match resolved(schema):
        case Text() as text:
            return text.examples[0] if text.examples else _TEXTS[text.format]
        case Integer(least):
            return max(1, least or 0)
        case Number(least):
            return max(1.0, least or 0.0)
        case Boolean():
            return True
        case Moment():
            return datetime(2024, 1, 1, tzinfo=UTC)
        case Bytes():
            return b"web"
        case Choice(values):
            return values[0]
        case Either(options):
            return typical(options[0], depth)
        case Array() as array:
            return array.container([typical(array.item, depth + 1)])
        case Map() as mapping:
            return {typical(mapping.key, depth + 1): typical(mapping.value, depth + 1)}
        case Anything():
            return "web-1"
        case Record() as record:
            fields = {field.name: typical(field.schema, depth + 1) for field in record.fields}
            if record.style is Style.ITEMS:
                return fields
            return SimpleNamespace(**fields) if record.make is None else record.make(**fields)
    return None
