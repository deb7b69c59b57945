"""Limits of JSON schemas for texts and numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .combining import either
from .constraints import above, below, integer, next_above, next_below
from .schema import Format, Integer, Number, Schema, SchemaError, Text

_FORMATS = {"date-time": Format.TIME, "datetime": Format.TIME, "hostname": Format.NAME}
_BYTE = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_PATTERNS = {
    "byte": r"\A(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?\Z",
    "date": r"\A(?:19|20)[0-9]{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])\Z",
    "duration": r"\A[0-9]{1,6}(?:ns|us|ms|s|m|h)\Z",
    "ipv4": rf"\A{_BYTE}(?:\.{_BYTE}){{3}}\Z",
    "uuid": r"\A[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z",
}
_CLASSES = {
    "[:alnum:]": "A-Za-z0-9",
    "[:alpha:]": "A-Za-z",
    "[:digit:]": "0-9",
    "[:lower:]": "a-z",
    "[:upper:]": "A-Z",
    "[:space:]": r"\t\n\v\f\r ",
    "[:xdigit:]": "0-9A-Fa-f",
    "[:word:]": "0-9A-Za-z_",
}
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
_TYPE_OF_KEYWORD = {
    **dict.fromkeys(("properties", "additionalProperties", "required", "minProperties", "maxProperties"), "object"),
    "x-kubernetes-embedded-resource": "object",
    **dict.fromkeys(("items", "minItems", "maxItems"), "array"),
    **dict.fromkeys(("pattern", "minLength", "maxLength"), "string"),
    **dict.fromkeys(("minimum", "maximum"), "number"),
}


def kinds_of(json_schema: Mapping[str, Any]) -> list[str]:
    """Return the JSON types that a JSON schema allows; empty if it names or implies none."""
    kind = json_schema.get("type")
    if kind is not None:
        return list(kind) if isinstance(kind, list) else [kind]
    for keyword, implied in _TYPE_OF_KEYWORD.items():
        if keyword in json_schema:
            return [implied]
    return []


def has_value_of(kind: str, value: Any) -> bool:
    """Whether a JSON value has a JSON type."""
    match kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case _:
            return isinstance(value, Mapping)


def text_schema(json_schema: Mapping[str, Any], where: str) -> Text:
    """Return the schema of the texts that a JSON schema allows.

    Raises:
        SchemaError: the pattern is invalid, or no length is allowed.
    """
    least, most = json_schema.get("minLength", 0), json_schema.get("maxLength")
    if most is not None and least > most:
        raise SchemaError(f"{where} must have at least {least} characters, but at most {most}")
    form = json_schema.get("format", "")
    pattern = json_schema.get("pattern")
    return Text(
        _FORMATS.get(form, Format.FREE),
        least,
        most,
        _PATTERNS.get(form) if pattern is None else _in_python(pattern, where),
    )


def integer_schema(json_schema: Mapping[str, Any], where: str, bits: int | None) -> Integer:
    """Return the schema of the integers that a JSON schema allows; ``bits`` is the default of its ``format``.

    Raises:
        SchemaError: no integer is allowed.
    """
    bits = {"int32": 32, "int64": 64}.get(json_schema.get("format", ""), bits)
    schema = Integer() if bits is None else Integer(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    result = integer(schema, *_bounds(json_schema, is_integer=True))
    if result.least is not None and result.most is not None and result.least > result.most:
        raise SchemaError(f"{where} must be at least {result.least}, but at most {result.most}")
    return result


def number_schema(json_schema: Mapping[str, Any], where: str, bits: int | None) -> Schema:
    """Return the schema of the numbers that a JSON schema allows, integers included.

    Raises:
        SchemaError: no number is allowed.
    """
    least, most = _bounds(json_schema, is_integer=False)
    if least is not None and most is not None and least > most:
        raise SchemaError(f"{where} must be at least {least}, but at most {most}")
    number = Number(None if least is None else float(least), None if most is None else float(most))
    try:
        return either((number, integer_schema(json_schema, where, bits)))
    except SchemaError:
        return number


def _bounds(json_schema: Mapping[str, Any], *, is_integer: bool) -> tuple[float | None, float | None]:
    """Return inclusive bounds; exclusive bounds are booleans in draft 4 and OpenAPI 3.0, numbers in later drafts."""
    least, most = json_schema.get("minimum"), json_schema.get("maximum")
    lower, upper = json_schema.get("exclusiveMinimum"), json_schema.get("exclusiveMaximum")
    if isinstance(lower, bool):
        least, lower = (None, least) if lower else (least, None)
    if isinstance(upper, bool):
        most, upper = (None, most) if upper else (most, None)
    return (
        above(least, None if lower is None else next_above(lower, is_integer=is_integer)),
        below(most, None if upper is None else next_below(upper, is_integer=is_integer)),
    )


def _in_python(pattern: str, where: str) -> str:
    """Translate a regular expression of Go or JavaScript, where ``$`` is the very end, and classes are ASCII."""
    for name, characters in _CLASSES.items():
        pattern = pattern.replace(name, characters)
    translated = _TOKEN.sub(lambda match: r"\Z" if match[0] in ("$", r"\z") else match[0], pattern)
    if any(
        token in (r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\b", r"\B") for token in re.findall(r"\\.", translated)
    ):
        translated = "(?a)" + translated
    try:
        re.compile(translated)
    except re.error as error:
        raise SchemaError(f"the pattern {pattern!r} of {where} is not valid in Python: {error}") from error
    return translated
