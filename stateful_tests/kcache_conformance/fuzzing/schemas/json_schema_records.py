"""Limits of JSON schemas for objects: number of fields, exclusive fields, and the metadata of Kubernetes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .json_schema_values import text_schema
from .kubernetes import MANIFEST, metadata
from .schema import Field, Record, SchemaError, Text


def metadata_schema(json_schema: Mapping[str, Any]) -> Record | None:
    """Return ``kubernetes.metadata`` with the bounds of ``json_schema``; ``None`` if that is no such metadata."""
    known = metadata(MANIFEST)
    properties = json_schema.get("properties") or {}
    if json_schema.get("type", "object") != "object" or "additionalProperties" in json_schema:
        return None
    if any(name not in {field.name for field in known.fields} for name in properties):
        return None
    fields = []
    for field in known.fields:
        inner, schema = properties.get(field.name), field.schema
        if isinstance(inner, Mapping) and isinstance(schema, Text):
            said = text_schema(inner, f"metadata.{field.name}")
            most = min((one for one in (schema.most, said.most) if one is not None), default=None)
            schema = replace(
                schema, least=max(schema.least, said.least), most=most, pattern=said.pattern or schema.pattern
            )
        is_free = field.name not in json_schema.get("required", ())
        fields.append(replace(field, schema=schema, may_be_missing=is_free, may_be_none=is_free and field.may_be_none))
    return replace(known, fields=tuple(fields))


def limited(fields: list[Field], least: int, most: int | None, where: str) -> list[list[Field]]:
    """Return selections of fields with at least ``least`` and at most ``most`` fields; not all possible selections."""
    required = [field for field in fields if not field.may_be_missing]
    optional = [field for field in fields if field.may_be_missing]
    room = len(optional) if most is None else most - len(required)
    wanted = max(0, least - len(required))
    if room < 0 or wanted > min(room, len(optional)):
        raise SchemaError(f"{where or 'the object'} has {len(fields)} fields, but must have {least} to {most}")
    if room >= len(optional) and wanted == 0:
        return [fields]
    room = min(room, len(optional))
    options = []
    for start in range(len(optional) if room > 0 else 1):
        chosen = [optional[(start + step) % len(optional)].name for step in range(room)]
        must = {field.name for field in required} | set(chosen[:wanted])
        selected = [field for field in fields if field.name in must or field.name in chosen]
        options.append([replace(field, may_be_missing=field.name not in must) for field in selected])
    return options


def without_the_others(whole: dict[str, Any], option: Any, options: list[Any]) -> dict[str, Any]:
    """Remove the fields that only other alternatives require, because exactly one alternative may hold."""
    if not all(isinstance(one, Mapping) and "required" in one for one in options):
        return whole
    own = set(whole.get("required", ()))
    others = {name for one in options if one is not option for name in one["required"]} - own
    remaining = {name: inner for name, inner in whole.get("properties", {}).items() if name not in others}
    return {**whole, "properties": remaining}
