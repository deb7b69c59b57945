"""Checks of decoded JSON: what is wrong is told with the value that was found."""

from __future__ import annotations

import json
from collections.abc import Set
from typing import Any

from .errors import FormatError

Json = dict[str, Any]


_LONGEST_SHOWN = 300


def shown(data: object) -> str:
    """``data`` as JSON for a message; the beginning of it, if it is long."""
    text = json.dumps(data)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def fields_of(data: object, what: str, required: Set[str], optional: Set[str]) -> Json:
    """The fields of an object that has all of the required ones and none that is unknown.

    Raises:
        FormatError: it is none.
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
    """The member of an enumeration.

    Raises:
        FormatError: there is none with this value.
    """
    try:
        return enumeration(value)
    except ValueError:
        known = ", ".join(member.value for member in enumeration)
        raise FormatError(f"unknown {what} {shown(value)}; known are: {known}") from None


def is_integer(value: object) -> bool:
    """Whether it is a whole number; JSON's true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def list_of(data: object) -> list[Any]:
    """A list.

    Raises:
        FormatError: it is none.
    """
    if not isinstance(data, list):
        raise FormatError(f"expected a list, not {shown(data)}")
    return data


def text_of(data: object) -> str:
    """A text.

    Raises:
        FormatError: it is none.
    """
    if not isinstance(data, str):
        raise FormatError(f"expected a text, not {shown(data)}")
    return data


def texts_of(data: object) -> tuple[str, ...]:
    """A list of texts.

    Raises:
        FormatError: it is none.
    """
    texts = list_of(data)
    for text in texts:
        if not isinstance(text, str):
            raise FormatError(f"expected a list of texts, not {shown(data)}")
    return tuple(texts)


def require_schema(data: object, schema: str) -> None:
    """Refuse what is not of a schema.

    Raises:
        FormatError: it is of another one, or of none.
    """
    found = data.get("schema") if isinstance(data, dict) else None
    if found != schema:
        raise FormatError(f'expected "schema": "{schema}", found {shown(found)}')
