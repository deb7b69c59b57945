"""Schema from samples: all samples conform to it, and so do similar objects."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..judging.validity import is_valid
from .combining import either
from .kubernetes import MANIFEST, field_in, map_named, metadata, type_named, value_named
from .schema import (
    Anything,
    Array,
    Boolean,
    Choice,
    Either,
    Field,
    Format,
    Integer,
    Map,
    Nothing,
    Number,
    Record,
    Schema,
    SchemaError,
    Style,
    Text,
)

_FREE_KEYS = frozenset(("data", "stringData", "binaryData", "selector"))
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_]*")
_MOST_EXAMPLES = 200
_MANY_OBJECTS, _MANY_KEYS = 3, 6
_MAY_ALWAYS_BE_MISSING = ("spec", "status")


def schema_of_samples(samples: Sequence[Any]) -> Schema:
    """Return a schema of the common structure of ``samples``; if they have several kinds, a choice of one per kind.

    Args:
        samples: plain JSON values: dicts, lists, texts, numbers, booleans, ``None``.

    Raises:
        SchemaError: there are no samples, or they contain a value that is not plain.
    """
    if not samples:
        raise SchemaError("there are no samples")
    kinds: dict[str | None, list[Any]] = {}
    for sample in samples:
        kind = sample.get("kind") if isinstance(sample, Mapping) else None
        kinds.setdefault(kind if isinstance(kind, str) else None, []).append(sample)
    if len(kinds) == 2 and None in kinds:
        # The items of a Kubernetes list have no kind.
        kinds = {next(kind for kind in kinds if kind is not None): list(samples)}
    return either(_whole(kind, objects) for kind, objects in kinds.items())


def _whole(kind: str | None, samples: list[Any]) -> Schema:
    objects = [sample for sample in samples if isinstance(sample, dict)]
    if len(objects) < len(samples) or not any("metadata" in one or "kind" in one for one in objects):
        return _schema(samples, "", None)
    known = type_named(kind, MANIFEST) if kind is not None else None
    fields = {field.name: field for field in _fields(objects, "", known)}
    if kind is not None:
        fields["kind"] = replace(fields["kind"], schema=Choice((kind,)))
    if "apiVersion" in fields:
        versions = _distinct(one["apiVersion"] for one in objects if one.get("apiVersion") is not None)
        fields["apiVersion"] = replace(fields["apiVersion"], schema=Choice(tuple(versions)))
    if "metadata" in fields:
        metadata_values = [one["metadata"] for one in objects if isinstance(one.get("metadata"), dict)]
        fields["metadata"] = Field("metadata", _metadata(metadata_values), may_be_missing=False, may_be_none=False)
    for name in _MAY_ALWAYS_BE_MISSING:
        if name in fields:
            fields[name] = replace(fields[name], may_be_missing=True)
    return Record(tuple(fields.values()), Style.ITEMS, name=kind or "")


def _metadata(values: Sequence[Mapping[str, Any]]) -> Record:
    """Return the schema of the metadata, with the values of the samples."""
    known = metadata(MANIFEST)
    by_name = {field.name: field for field in _fields(values, "metadata", known)}
    fields = [
        replace(field, schema=by_name.pop(field.name).schema) if field.name in by_name else field
        for field in known.fields
    ]
    others = [replace(field, may_be_missing=True, may_be_none=True) for field in by_name.values()]
    return replace(known, fields=(*fields, *others))


def _schema(values: Sequence[Any], where: str, known: Schema | None) -> Schema:
    """Return one schema for all ``values``; ``known`` is the schema that they probably have."""
    groups: dict[type, list[Any]] = {}
    for value in values:
        groups.setdefault(type(value), []).append(value)
    if isinstance(known, Either):
        # Two schemas of one type cannot be distinguished here.
        known = None
    options = [_of_type(kind, group, where, known) for kind, group in groups.items()]
    return either(options) if options else Anything()


def _of_type(kind: type, values: list[Any], where: str, known: Schema | None) -> Schema:
    if kind is dict:
        return _dict(values, where, known)
    if kind is list:
        return _list(values, where, known)
    if kind is str:
        return _text(values, where, known)
    if kind is type(None):
        return Nothing()
    if kind is bool:
        return Boolean()
    if kind is int:
        return _integers(values, where, known)
    if kind is float:
        return Number()
    raise SchemaError(f"{where or 'a sample'} contains a {kind.__name__}, which is not a plain value; give a strategy")


def _dict(values: list[dict[Any, Any]], where: str, known: Schema | None) -> Schema:
    if any(not isinstance(key, str) for value in values for key in value):
        raise SchemaError(f"{where or 'a sample'} has keys that are not strings; give a strategy")
    if _last(where) == "metadata" and _is_metadata(values):
        return _metadata(values)
    mapping = known if isinstance(known, Map) else None
    if mapping is None and not isinstance(known, Record):
        mapping = map_named(_last(where))
    if mapping is None and (isinstance(known, Record) or not _has_free_keys(values, where)):
        name = known.name if isinstance(known, Record) else _last(where)
        record = known if isinstance(known, Record) else None
        return Record(tuple(_fields(values, where, record)), Style.ITEMS, name=name)
    keys = [key for value in values for key in value]
    inner = [one for value in values for one in value.values()]
    likely = mapping or Map(Text(Format.LABEL_KEY), Text())
    if not keys:
        return likely if mapping is not None else Record(())
    return Map(_text(keys, f"{where} key", likely.key), _schema(inner, f"{where}.*", likely.value))


def _is_metadata(values: list[dict[str, Any]]) -> bool:
    known = {field.name for field in metadata(MANIFEST).fields} | {"managedFields", "selfLink"}
    return all(key in known for value in values for key in value)


def _has_free_keys(values: list[dict[str, Any]], where: str) -> bool:
    """Whether the keys are data, not field names: by the name of the map, the form of the keys, or their variety."""
    counts = Counter(key for value in values for key in value)
    if _last(where) in _FREE_KEYS and all(isinstance(one, str) for value in values for one in value.values()):
        return True
    if any(not _IDENTIFIER.fullmatch(key) for key in counts):
        return True
    kinds = {type(one) for value in values for one in value.values() if one is not None}
    return (
        len(values) >= _MANY_OBJECTS
        and len(counts) >= _MANY_KEYS
        and max(counts.values()) * 2 < len(values)
        and len(kinds) == 1
    )


def _fields(values: Sequence[Mapping[str, Any]], where: str, known: Record | None) -> list[Field]:
    fields = []
    for name in _distinct(key for value in values for key in value):
        path = f"{where}.{name}" if where else str(name)
        present = [value[name] for value in values if name in value]
        schemas = [one for one in present if one is not None]
        field = field_in(known, name)
        inner = None if field is None else field.schema
        schema = _schema(schemas, path, inner) if schemas else inner or Nothing()
        fields.append(Field(name, schema, len(present) < len(values), len(schemas) < len(present)))
    return fields


def _list(values: list[list[Any]], where: str, known: Schema | None) -> Schema:
    items = [item for value in values for item in value]
    if not items:
        return known if isinstance(known, Array) else Array(Anything(), most=0)
    inner, most = (known.item, known.most) if isinstance(known, Array) else (None, None)
    if most is not None:
        most = max(most, *map(len, values))
    return Array(_schema(items, f"{where}[]", inner), most=most)


def _text(values: list[str], where: str, known: Schema | None) -> Schema:
    distinct = tuple(_distinct(values))[:_MOST_EXAMPLES]
    if known is None and where:
        known = value_named(_last(where), MANIFEST)
    if isinstance(known, Choice) and all(is_valid(value, known) for value in distinct):
        return known
    if isinstance(known, Text):
        # With the known examples, every text would pass that is an example.
        if all(is_valid(value, replace(known, examples=())) for value in distinct):
            return replace(known, examples=distinct)
    elif all(is_valid(value, Text(Format.TIME)) for value in distinct):
        return Text(Format.TIME, examples=distinct)
    return Text(examples=distinct)


def _integers(values: list[int], where: str, known: Schema | None) -> Schema:
    if known is None and where:
        known = value_named(_last(where), MANIFEST)
    if isinstance(known, Integer) and all(is_valid(value, known) for value in values):
        return known
    bits = 31 if all(-(2**31) <= value < 2**31 for value in values) else 63
    if not all(-(2**63) <= value < 2**63 for value in values):
        return Integer()
    return Integer(0 if min(values) >= 0 else -(2**bits), 2**bits - 1)


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def _last(path: str) -> str:
    return path.rpartition(".")[2].removesuffix("[]")
