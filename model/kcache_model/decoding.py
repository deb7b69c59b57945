"""Checks of decoded JSON; each error message contains the rejected value."""

from __future__ import annotations

import json
from collections.abc import Set
from typing import Any

from .errors import FormatError

Json = dict[str, Any]


_LONGEST_SHOWN = 300


def shown(data: object) -> str:
    """Return ``data`` as JSON for a message; only the first 300 characters if the JSON is longer."""
    text = json.dumps(data)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def fields_of(data: object, what: str, required: Set[str], optional: Set[str]) -> Json:
    """Return the fields of an object that has all required fields and no unknown field.

    Raises:
        FormatError: ``data`` is no object, lacks a required field, or has an unknown field.
    """
    if not isinstance(data, dict):
        raise FormatError(f"{what} must be a JSON object, not {shown(data)}")
    names = data.keys()
    if not names >= required:
        raise FormatError(f"{what} lacks {', '.join(sorted(required - names))}: {shown(data)}")
    if len(data) > len(required) and (unknown := names - required - optional):
        raise FormatError(f"{what} has no field {', '.join(map(shown, sorted(unknown)))}: {shown(data)}")
    return data


def member_of(enumeration: Any, value: object, what: str) -> Any:
    """Return the member of an enumeration that has a value.

    Raises:
        FormatError: no member has this value.
    """
    try:
        return enumeration(value)
    except ValueError:
        known = ", ".join(member.value for member in enumeration)
        raise FormatError(f"unknown {what} {shown(value)}; known are: {known}") from None


def is_integer(value: object) -> bool:
    """Whether a value is an integer; JSON's true and false are not integers."""
    return isinstance(value, int) and not isinstance(value, bool)


def list_of(data: object) -> list[Any]:
    """Return ``data`` if it is a list.

    Raises:
        FormatError: ``data`` is no list.
    """
    if not isinstance(data, list):
        raise FormatError(f"expected a list, not {shown(data)}")
    return data


def text_of(data: object) -> str:
    """Return ``data`` if it is a text.

    Raises:
        FormatError: ``data`` is no text.
    """
    if not isinstance(data, str):
        raise FormatError(f"expected a text, not {shown(data)}")
    return data


def texts_of(data: object) -> tuple[str, ...]:
    """Return a list of texts as a tuple.

    Raises:
        FormatError: ``data`` is no list of texts.
    """
    texts = list_of(data)
    for text in texts:
        if not isinstance(text, str):
            raise FormatError(f"expected a list of texts, not {shown(data)}")
    return tuple(texts)


def require_schema(data: object, schema: str) -> None:
    """Reject ``data`` unless its field ``schema`` has the value ``schema``.

    Raises:
        FormatError: the field is missing or has another value.
    """
    actual = data.get("schema") if isinstance(data, dict) else None
    if actual != schema:
        raise FormatError(f'expected "schema": "{schema}", found {shown(actual)}')
