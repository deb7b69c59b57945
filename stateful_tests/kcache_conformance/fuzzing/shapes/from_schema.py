"""Shapes of JSON schemas, as Kubernetes uses them: OpenAPI documents and CustomResourceDefinitions, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .combining import either, require_finite, without_none
from .kubernetes import MANIFEST, metadata
from .schema_documents import Found, find_schema, pointed_at
from .schema_merging import merged
from .schema_records import limited, metadata_shape, without_the_others
from .schema_values import has_value_of, kinds_of, number_shape, text_shape, whole_shape
from .shape import (
    Anything,
    Choice,
    Either,
    Field,
    Flag,
    Format,
    Later,
    Listing,
    Nothing,
    Record,
    Shape,
    ShapeError,
    Table,
    Text,
)

_ANNOTATIONS = frozenset(
    ("title", "description", "default", "example", "examples", "deprecated", "readOnly", "writeOnly", "externalDocs")
)
_MEANINGFUL_EXTENSIONS = ("x-kubernetes-int", "x-kubernetes-preserve", "x-kubernetes-embedded")
_KUBERNETES_FIELDS = ("apiVersion", "kind", "metadata")


def shape_of_schema(document: Mapping[str, Any], name: str | None = None) -> Shape:
    """The shape of the objects that a schema describes; what it does not say, is free.

    Args:
        document: a JSON schema, an OpenAPI document, or the manifest of a CustomResourceDefinition.
        name: which schema of several, or which version of the custom resource; by default the stored one.

    Raises:
        ShapeError: there is no such schema, or no objects can be made of it.
    """
    found = find_schema(document, name)
    shape = _Schemas(found).root()
    return require_finite(shape, found.title or "the schema")


class _Schemas:
    """The schemas of one document as shapes."""

    def __init__(self, found: Found) -> None:
        self._found = found
        self._done: dict[str, Shape] = {}
        self._later: dict[str, Later] = {}
        self._under_way: list[str] = []

    def root(self) -> Shape:
        """The shape of the schema that was found."""
        shape, _ = without_none(self.shape(self._found.schema, ""))
        if isinstance(shape, Either):
            return replace(shape, options=tuple(map(self._named, shape.options)))
        return self._named(shape)

    def _named(self, shape: Shape) -> Shape:
        if not isinstance(shape, Record):
            return shape
        if self._found.kind is None:
            return replace(shape, name=shape.name or self._found.title)
        return replace(self._whole_object(shape), name=self._found.kind)

    def shape(self, schema: Any, where: str) -> Shape:
        """The shape of a schema at a path of the object."""
        if schema is True:
            return Anything()
        if not isinstance(schema, Mapping):
            raise ShapeError(f"the schema of {where or 'the object'} is {schema!r}, which allows no value")
        reference = _only_reference(schema)
        if reference is not None:
            shape = self._reference(reference, where)
        else:
            schema = self._flat(schema, where)
            shape = self._alternatives(schema, where)
        return either((shape, Nothing())) if schema.get("nullable") is True else shape

    def _reference(self, reference: str, where: str) -> Shape:
        if reference.endswith(".meta.v1.ObjectMeta"):
            return metadata(MANIFEST)
        if reference.endswith(".api.resource.Quantity"):
            return Text(Format.QUANTITY)
        if reference in self._under_way:
            return self._later.setdefault(reference, Later(lambda: self._done[reference], _last(reference)))
        if reference not in self._done:
            self._under_way.append(reference)
            made = self.shape(pointed_at(self._found.document, reference), where)
            self._under_way.remove(reference)
            if any(made is later for later in self._later.values()):
                raise ShapeError(f"the schema {reference} refers to nothing but itself")
            if isinstance(made, Record) and not made.name:
                made = replace(made, name=_last(reference))
            self._done[reference] = made
        return self._done[reference]

    def _flat(self, schema: Mapping[str, Any], where: str, seen: tuple[str, ...] = ()) -> Mapping[str, Any]:
        """``schema`` with what it refers to, and all of its ``allOf``, in it."""
        parts = list(schema.get("allOf", ()))
        if "$ref" in schema:
            if schema["$ref"] in seen:
                raise ShapeError(f"the schema {schema['$ref']} refers to nothing but itself")
            seen = (*seen, schema["$ref"])
            parts.append(pointed_at(self._found.document, schema["$ref"]))
        if not parts:
            return schema
        own = {key: value for key, value in schema.items() if key not in ("allOf", "$ref")}
        whole: dict[str, Any] | None = None
        for part in parts:
            if part is True:
                continue
            if not isinstance(part, Mapping):
                raise ShapeError(f"the schema of {where or 'the object'} allows no value")
            flat = self._flat(part, where, seen)
            whole = dict(flat) if whole is None else merged(whole, flat, where)
        result = own if whole is None else merged(own, whole, where)
        # A reference that may be null is written as ``allOf`` beside ``nullable``.
        return {**result, "nullable": True} if own.get("nullable") is True else result

    def _alternatives(self, schema: Mapping[str, Any], where: str) -> Shape:
        if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
            bare = {key: value for key, value in schema.items() if key not in ("type", "format")}
            return either((whole_shape(bare, where, bits=32), text_shape(bare, where)))
        for keyword in ("oneOf", "anyOf"):
            options = schema.get(keyword)
            if not options:
                continue
            rest = {key: value for key, value in schema.items() if key != keyword}
            shapes = []
            for option in options:
                if option is False:
                    continue
                reference = _only_reference(option) if not _is_meaningful(rest) else None
                if reference is not None:
                    shapes.append(self._reference(reference, where))
                    continue
                flat = self._flat(option, where) if isinstance(option, Mapping) else {}
                whole = merged(rest, flat, where)
                if keyword == "oneOf":
                    whole = without_the_others(whole, option, options)
                shapes.append(self.shape(whole, where))
            return either(shapes)
        return self._plain(schema, where)

    def _plain(self, schema: Mapping[str, Any], where: str) -> Shape:
        kinds = kinds_of(schema)
        values = [schema["const"]] if "const" in schema else schema.get("enum")
        if values is not None:
            allowed = tuple(one for one in values if not kinds or any(has_value_of(kind, one) for kind in kinds))
            if not allowed:
                raise ShapeError(f"the schema of {where or 'the object'} allows no value")
            return Choice(allowed)
        if not kinds:
            return Anything()
        return either(self._of_kind(kind, schema, where) for kind in kinds)

    def _of_kind(self, kind: str, schema: Mapping[str, Any], where: str) -> Shape:
        match kind:
            case "null":
                return Nothing()
            case "boolean":
                return Flag()
            case "string":
                return text_shape(schema, where)
            case "integer":
                return whole_shape(schema, where, bits=64 if self._found.is_kubernetes else None)
            case "number":
                return number_shape(schema, where, bits=64 if self._found.is_kubernetes else None)
            case "array":
                return self._array(schema, where)
            case "object":
                return self._object(schema, where)
            case _:
                raise ShapeError(f"{where or 'the object'} has the type {kind!r}, which JSON schemas do not have")

    def _array(self, schema: Mapping[str, Any], where: str) -> Shape:
        items = schema.get("items", True)
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        if most == 0 or items is False:
            return Listing(Anything(), most=0)
        inner = items if isinstance(items, list) else [items]
        return Listing(either(self.shape(one, f"{where}[]") for one in inner), least, most)

    def _object(self, schema: Mapping[str, Any], where: str) -> Shape:
        properties = schema.get("properties") or {}
        is_kubernetes = bool(schema.get("x-kubernetes-embedded-resource")) or all(
            name in properties for name in _KUBERNETES_FIELDS
        )
        others = schema.get("additionalProperties", True)
        least, most = schema.get("minProperties", 0), schema.get("maxProperties")
        required = schema.get("required", ())
        if not properties and not is_kubernetes and others is not False and not required:
            key = schema.get("propertyNames", {})
            value = self.shape(others, f"{where}.*")
            return Table(text_shape(key, where) if isinstance(key, Mapping) else Text(), value, least, most)
        fields = [
            self._field(name, inner, name in required, where)
            for name, inner in properties.items()
            if inner is not False
        ]
        missing = [name for name in required if name not in properties]
        fields += [self._field(name, others, True, where) for name in missing]
        options = [Record(tuple(one), name=_last(where)) for one in limited(fields, least, most, where)]
        return either(self._whole_object(one) if is_kubernetes else one for one in options)

    def _field(self, name: str, schema: Any, is_required: bool, where: str) -> Field:
        path = f"{where}.{name}" if where else name
        if name == "metadata" and isinstance(schema, Mapping):
            inner = metadata_shape(self._flat(schema, path))
            if inner is not None:
                return Field(name, inner, not is_required, schema.get("nullable") is True)
        shape, may_be_none = without_none(self.shape(schema, path))
        return Field(name, shape, not is_required, may_be_none)

    def _whole_object(self, record: Record) -> Record:
        """What a store holds has metadata, whatever the schema requires, and the kind that the document names."""
        own = {field.name: field for field in record.fields}
        is_root = not self._under_way and record.name == ""
        free = {"apiVersion": self._found.api_version, "kind": self._found.kind} if is_root else {}
        for name in ("apiVersion", "kind"):
            known = free.get(name)
            field = own.get(name, Field(name, Text(), may_be_missing=is_root, may_be_none=False))
            own[name] = field if known is None else replace(field, shape=Choice((known,)))
        field = own.get("metadata", Field("metadata", metadata(MANIFEST)))
        own["metadata"] = replace(field, may_be_missing=False, may_be_none=False)
        first = [own.pop(name) for name in _KUBERNETES_FIELDS]
        return replace(record, fields=(*first, *own.values()))


def _only_reference(schema: Any) -> str | None:
    """Where ``schema`` is nothing but a reference, that; recursion goes through these."""
    if not isinstance(schema, Mapping):
        return None
    rest = {key: value for key, value in schema.items() if key not in ("$ref", "allOf", "nullable")}
    parts = schema.get("allOf", ())
    if _is_meaningful(rest) or ("$ref" in schema) == (len(parts) == 1) or len(parts) > 1:
        return None
    return schema["$ref"] if "$ref" in schema else _only_reference(parts[0])


def _is_meaningful(schema: Mapping[str, Any]) -> bool:
    return any(
        key.startswith(_MEANINGFUL_EXTENSIONS) or not (key in _ANNOTATIONS or key.startswith(("x-", "$")))
        for key in schema
    )


def _last(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2]
