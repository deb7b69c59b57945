"""Merging of JSON schemas that must all hold: ``allOf``, and keywords beside ``anyOf`` and ``oneOf``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .schema import SchemaError

_GREATEST = ("minimum", "minLength", "minItems", "minProperties")
_LEAST = ("maximum", "maxLength", "maxItems", "maxProperties")
_EITHER_IS_TRUE = (
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
)

JsonSchema = Mapping[str, Any]


def merged(one: JsonSchema, other: JsonSchema, where: str) -> dict[str, Any]:
    """Return a JSON schema of the values that both allow.

    Raises:
        SchemaError: they contradict each other.
    """
    result = dict(one)
    for key, value in other.items():
        result[key] = _both(key, result[key], value, where) if key in result else value
    if "nullable" not in one or "nullable" not in other:
        # A JSON schema with a type but without "nullable" forbids null.
        silent = [
            json_schema for json_schema in (one, other) if "nullable" not in json_schema and "type" in json_schema
        ]
        if silent and result.pop("nullable", False):
            result["nullable"] = False
    return result


def _both(key: str, one: Any, other: Any, where: str) -> Any:
    combine = _COMBINING.get(key)
    if combine is not None:
        return combine(one, other, where)
    if key in _GREATEST:
        return max(one, other)
    if key in _LEAST:
        return min(one, other)
    if key in _EITHER_IS_TRUE:
        return bool(one or other)
    return one


def _properties(one: JsonSchema, other: JsonSchema, where: str) -> dict[str, Any]:
    return {
        **one,
        **{name: _subschema(one[name], value, where) if name in one else value for name, value in other.items()},
    }


def _subschema(one: Any, other: Any, _: str) -> Any:
    if isinstance(one, bool) or isinstance(other, bool):
        if one is False or other is False:
            return False
        return other if one is True else one
    return one if one == other else {"allOf": [one, other]}


def _types(one: Any, other: Any, where: str) -> Any:
    one_types = one if isinstance(one, list) else [one]
    other_types = other if isinstance(other, list) else [other]
    common = [kind for kind in one_types if kind in other_types or (kind == "integer" and "number" in other_types)]
    if "integer" in other_types and "number" in one_types and "integer" not in common:
        common.append("integer")
    if not common:
        raise SchemaError(f"{where} must be {_joined(one_types)} and {_joined(other_types)} at the same time")
    return common[0] if len(common) == 1 else common


def _enums(one: list[Any], other: list[Any], where: str) -> list[Any]:
    common = [value for value in one if value in other]
    if not common:
        raise SchemaError(f"{where} must be one of {one} and one of {other} at the same time")
    return common


def _patterns(one: str, other: str, _: str) -> str:
    return one if one == other else rf"(?=[\s\S]*(?:{one}))(?=[\s\S]*(?:{other}))\A"


def _exclusive(one: Any, other: Any, pick: Callable[[Any, Any], Any]) -> Any:
    # Draft 4 has booleans here, later drafts numbers.
    return bool(one or other) if isinstance(one, bool) or isinstance(other, bool) else pick(one, other)


def _alternatives(one: list[Any], other: list[Any], _: str) -> list[Any]:
    return [{"allOf": [first, second]} for first in one for second in other]


def _joined(kinds: list[Any]) -> str:
    return " or ".join(map(str, kinds))


_COMBINING: dict[str, Callable[[Any, Any, str], Any]] = {
    "properties": _properties,
    "required": lambda one, other, _: [*one, *(name for name in other if name not in one)],
    "type": _types,
    "enum": _enums,
    "pattern": _patterns,
    "items": _subschema,
    "additionalProperties": _subschema,
    "nullable": lambda one, other, _: bool(one and other),
    "exclusiveMinimum": lambda one, other, _: _exclusive(one, other, max),
    "exclusiveMaximum": lambda one, other, _: _exclusive(one, other, min),
    "anyOf": _alternatives,
    "oneOf": _alternatives,
    "allOf": lambda one, other, _: [*one, *other],
}
