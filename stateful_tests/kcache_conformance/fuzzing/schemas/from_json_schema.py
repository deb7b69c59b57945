"""Schemas from JSON schemas in the dialects of Kubernetes, OpenAPI documents and CustomResourceDefinitions included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .combining import either, require_finite, without_none
from .json_schema_documents import Found, find_json_schema, pointed_at
from .json_schema_merging import merged
from .json_schema_records import limited, metadata_schema, without_the_others
from .json_schema_values import has_value_of, integer_schema, kinds_of, number_schema, text_schema
from .kubernetes import MANIFEST, metadata
from .schema import (
    Anything,
    Array,
    Boolean,
    Choice,
    Either,
    Field,
    Format,
    Later,
    Map,
    Nothing,
    Record,
    Schema,
    SchemaError,
    Text,
)

_ANNOTATIONS = frozenset(
    ("title", "description", "default", "example", "examples", "deprecated", "readOnly", "writeOnly", "externalDocs")
)
_MEANINGFUL_EXTENSIONS = ("x-kubernetes-int", "x-kubernetes-preserve", "x-kubernetes-embedded")
_KUBERNETES_FIELDS = ("apiVersion", "kind", "metadata")


def schema_of_json_schema(document: Mapping[str, Any], name: str | None = None) -> Schema:
    """Return the schema of the objects that a JSON schema describes; parts that it does not describe are arbitrary.

    Args:
        document: a JSON schema, an OpenAPI document, or the manifest of a CustomResourceDefinition.
        name: the name of the JSON schema, or the version of the custom resource; by default the stored version.

    Raises:
        SchemaError: the JSON schema does not exist, or allows no objects.
    """
    root = find_json_schema(document, name)
    schema = _JsonSchemas(root).root()
    return require_finite(schema, root.title or "the schema")


class _JsonSchemas:
    """A converter of the JSON schemas of one document into schemas."""

    def __init__(self, root: Found) -> None:
        self._root = root
        self._schemas: dict[str, Schema] = {}
        self._later: dict[str, Later] = {}
        self._under_way: list[str] = []

    def root(self) -> Schema:
        """Return the schema of the whole object."""
        schema, _ = without_none(self.schema(self._root.json_schema, ""))
        if isinstance(schema, Either):
            return replace(schema, options=tuple(map(self._named, schema.options)))
        return self._named(schema)

    def _named(self, schema: Schema) -> Schema:
        if not isinstance(schema, Record):
            return schema
        if self._root.kind is None:
            return replace(schema, name=schema.name or self._root.title)
        return replace(self._whole_object(schema), name=self._root.kind)

    def schema(self, json_schema: Any, where: str) -> Schema:
        """Convert the JSON schema at a path of the object."""
        if json_schema is True:
            return Anything()
        if not isinstance(json_schema, Mapping):
            raise SchemaError(f"the schema of {where or 'the object'} is {json_schema!r}, which allows no value")
        reference = _only_reference(json_schema)
        if reference is not None:
            schema = self._reference(reference, where)
        else:
            json_schema = self._flat(json_schema, where)
            schema = self._alternatives(json_schema, where)
        return either((schema, Nothing())) if json_schema.get("nullable") is True else schema

    def _reference(self, reference: str, where: str) -> Schema:
        if reference.endswith(".meta.v1.ObjectMeta"):
            return metadata(MANIFEST)
        if reference.endswith(".api.resource.Quantity"):
            return Text(Format.QUANTITY)
        if reference in self._under_way:
            return self._later.setdefault(reference, Later(lambda: self._schemas[reference], _last(reference)))
        if reference not in self._schemas:
            self._under_way.append(reference)
            schema = self.schema(pointed_at(self._root.document, reference), where)
            self._under_way.remove(reference)
            if any(schema is later for later in self._later.values()):
                raise SchemaError(f"the schema {reference} refers only to itself")
            if isinstance(schema, Record) and not schema.name:
                schema = replace(schema, name=_last(reference))
            self._schemas[reference] = schema
        return self._schemas[reference]

    def _flat(self, json_schema: Mapping[str, Any], where: str, references: tuple[str, ...] = ()) -> Mapping[str, Any]:
        """Merge ``json_schema`` with its ``$ref`` and all of its ``allOf``."""
        parts = list(json_schema.get("allOf", ()))
        if "$ref" in json_schema:
            if json_schema["$ref"] in references:
                raise SchemaError(f"the schema {json_schema['$ref']} refers only to itself")
            references = (*references, json_schema["$ref"])
            parts.append(pointed_at(self._root.document, json_schema["$ref"]))
        if not parts:
            return json_schema
        own = {key: value for key, value in json_schema.items() if key not in ("allOf", "$ref")}
        whole: dict[str, Any] | None = None
        for part in parts:
            if part is True:
                continue
            if not isinstance(part, Mapping):
                raise SchemaError(f"the schema of {where or 'the object'} allows no value")
            flat = self._flat(part, where, references)
            whole = dict(flat) if whole is None else merged(whole, flat, where)
        result = own if whole is None else merged(own, whole, where)
        # A reference that may be null is written as ``allOf`` beside ``nullable``.
        return {**result, "nullable": True} if own.get("nullable") is True else result

    def _alternatives(self, json_schema: Mapping[str, Any], where: str) -> Schema:
        if json_schema.get("x-kubernetes-int-or-string") or json_schema.get("format") == "int-or-string":
            bare = {key: value for key, value in json_schema.items() if key not in ("type", "format")}
            return either((integer_schema(bare, where, bits=32), text_schema(bare, where)))
        for keyword in ("oneOf", "anyOf"):
            options = json_schema.get(keyword)
            if not options:
                continue
            rest = {key: value for key, value in json_schema.items() if key != keyword}
            schemas = []
            for option in options:
                if option is False:
                    continue
                reference = _only_reference(option) if not _is_meaningful(rest) else None
                if reference is not None:
                    schemas.append(self._reference(reference, where))
                    continue
                flat = self._flat(option, where) if isinstance(option, Mapping) else {}
                whole = merged(rest, flat, where)
                if keyword == "oneOf":
                    whole = without_the_others(whole, option, options)
                schemas.append(self.schema(whole, where))
            return either(schemas)
        return self._plain(json_schema, where)

    def _plain(self, json_schema: Mapping[str, Any], where: str) -> Schema:
        kinds = kinds_of(json_schema)
        values = [json_schema["const"]] if "const" in json_schema else json_schema.get("enum")
        if values is not None:
            allowed = tuple(one for one in values if not kinds or any(has_value_of(kind, one) for kind in kinds))
            if not allowed:
                raise SchemaError(f"the schema of {where or 'the object'} allows no value")
            return Choice(allowed)
        if not kinds:
            return Anything()
        return either(self._of_kind(kind, json_schema, where) for kind in kinds)

    def _of_kind(self, kind: str, json_schema: Mapping[str, Any], where: str) -> Schema:
        match kind:
            case "null":
                return Nothing()
            case "boolean":
                return Boolean()
            case "string":
                return text_schema(json_schema, where)
            case "integer":
                return integer_schema(json_schema, where, bits=64 if self._root.is_kubernetes else None)
            case "number":
                return number_schema(json_schema, where, bits=64 if self._root.is_kubernetes else None)
            case "array":
                return self._array(json_schema, where)
            case "object":
                return self._object(json_schema, where)
            case _:
                raise SchemaError(f"{where or 'the object'} has the type {kind!r}, which JSON schemas do not have")

    def _array(self, json_schema: Mapping[str, Any], where: str) -> Schema:
        items = json_schema.get("items", True)
        least, most = json_schema.get("minItems", 0), json_schema.get("maxItems")
        if most == 0 or items is False:
            return Array(Anything(), most=0)
        inner = items if isinstance(items, list) else [items]
        return Array(either(self.schema(one, f"{where}[]") for one in inner), least, most)

    def _object(self, json_schema: Mapping[str, Any], where: str) -> Schema:
        properties = json_schema.get("properties") or {}
        is_kubernetes = bool(json_schema.get("x-kubernetes-embedded-resource")) or all(
            name in properties for name in _KUBERNETES_FIELDS
        )
        others = json_schema.get("additionalProperties", True)
        least, most = json_schema.get("minProperties", 0), json_schema.get("maxProperties")
        required = json_schema.get("required", ())
        if not properties and not is_kubernetes and others is not False and not required:
            key = json_schema.get("propertyNames", {})
            value = self.schema(others, f"{where}.*")
            return Map(text_schema(key, where) if isinstance(key, Mapping) else Text(), value, least, most)
        fields = [
            self._field(name, inner, name in required, where)
            for name, inner in properties.items()
            if inner is not False
        ]
        missing = [name for name in required if name not in properties]
        fields += [self._field(name, others, True, where) for name in missing]
        options = [Record(tuple(one), name=_last(where)) for one in limited(fields, least, most, where)]
        return either(self._whole_object(one) if is_kubernetes else one for one in options)

    def _field(self, name: str, json_schema: Any, is_required: bool, where: str) -> Field:
        path = f"{where}.{name}" if where else name
        if name == "metadata" and isinstance(json_schema, Mapping):
            inner = metadata_schema(self._flat(json_schema, path))
            if inner is not None:
                return Field(name, inner, not is_required, json_schema.get("nullable") is True)
        schema, may_be_none = without_none(self.schema(json_schema, path))
        return Field(name, schema, not is_required, may_be_none)

    def _whole_object(self, record: Record) -> Record:
        """Require metadata and the document's kind in a Kubernetes object, even if the JSON schema does not."""
        own = {field.name: field for field in record.fields}
        is_root = not self._under_way and record.name == ""
        free = {"apiVersion": self._root.api_version, "kind": self._root.kind} if is_root else {}
        for name in ("apiVersion", "kind"):
            known = free.get(name)
            field = own.get(name, Field(name, Text(), may_be_missing=is_root, may_be_none=False))
            own[name] = field if known is None else replace(field, schema=Choice((known,)))
        field = own.get("metadata", Field("metadata", metadata(MANIFEST)))
        own["metadata"] = replace(field, may_be_missing=False, may_be_none=False)
        first = [own.pop(name) for name in _KUBERNETES_FIELDS]
        return replace(record, fields=(*first, *own.values()))


def _only_reference(json_schema: Any) -> str | None:
    """Return the reference if ``json_schema`` is only a reference; recursive schemas use these."""
    if not isinstance(json_schema, Mapping):
        return None
    rest = {key: value for key, value in json_schema.items() if key not in ("$ref", "allOf", "nullable")}
    parts = json_schema.get("allOf", ())
    if _is_meaningful(rest) or ("$ref" in json_schema) == (len(parts) == 1) or len(parts) > 1:
        return None
    return json_schema["$ref"] if "$ref" in json_schema else _only_reference(parts[0])


def _is_meaningful(json_schema: Mapping[str, Any]) -> bool:
    return any(
        key.startswith(_MEANINGFUL_EXTENSIONS) or not (key in _ANNOTATIONS or key.startswith(("x-", "$")))
        for key in json_schema
    )


def _last(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2]
