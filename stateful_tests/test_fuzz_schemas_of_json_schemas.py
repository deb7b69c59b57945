"""Schemas of JSON Schemas, custom resource definitions and OpenAPI documents."""

from typing import (
    Any,
)

import jsonschema
import pydantic
import pytest

from kcache_conformance.fuzzing.schemas.from_json_schema import schema_of_json_schema
from kcache_conformance.fuzzing.schemas.kubernetes import LABELS, MANIFEST, metadata
from kcache_conformance.fuzzing.schemas.schema import (
    Anything,
    Array,
    Boolean,
    Choice,
    Either,
    Field,
    Format,
    Integer,
    Map,
    Number,
    Record,
    SchemaError,
    Style,
    Text,
)
from stateful_tests.material.schema_support import at, fields_of, for_all


def json_schema_at(json_schema: dict[str, Any]) -> Field:
    """The field ``x`` of an object with that JSON schema."""
    return fields_of(schema_of_json_schema({"type": "object", "properties": {"x": json_schema}}))["x"]


@pytest.mark.parametrize(
    ("json_schema", "schema"),
    [
        ({}, Anything()),
        ({"type": "string"}, Text()),
        ({"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^a"}, Text(least=1, most=3, pattern="^a")),
        ({"pattern": r"^\d+$"}, Text(pattern=r"(?a)^\d+\Z")),
        ({"pattern": r"^[$[:alpha:]]\$$"}, Text(pattern=r"^[$A-Za-z]\$\Z")),
        ({"type": "string", "format": "date-time"}, Text(Format.TIME)),
        ({"type": "boolean"}, Boolean()),
        ({"type": "integer"}, Integer()),
        ({"type": "integer", "format": "int32", "minimum": 0}, Integer(0, 2**31 - 1)),
        ({"type": "integer", "format": "int64"}, Integer(-(2**63), 2**63 - 1)),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True, "exclusiveMaximum": 5}, Integer(2, 4)),
        ({"type": "integer", "minimum": 1.5}, Integer(2)),
        ({"type": "number", "minimum": 0, "maximum": 1.5}, Either((Number(0.0, 1.5), Integer(0, 1)))),
        ({"type": "number", "minimum": 0.1, "maximum": 0.9, "format": "double"}, Number(0.1, 0.9)),
        ({"enum": ["a", 1, True]}, Choice(("a", 1, True))),
        ({"type": "string", "enum": ["a", 1]}, Choice(("a",))),
        ({"const": 3}, Choice((3,))),
        ({"type": "array"}, Array(Anything())),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2}, Array(Text(), 1, 2)),
        ({"type": "object"}, Map(Text(), Anything())),
        ({"additionalProperties": {"type": "integer"}, "maxProperties": 2}, Map(Text(), Integer(), most=2)),
        ({"type": "object", "additionalProperties": False}, Record((), name="x")),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, Either((Text(), Integer()))),
        ({"type": "string", "oneOf": [{"maxLength": 2}, {"minLength": 4}]}, Either((Text(most=2), Text(least=4)))),
        ({"allOf": [{"type": "string", "minLength": 1}, {"minLength": 2, "maxLength": 5}]}, Text(least=2, most=5)),
        ({"x-kubernetes-int-or-string": True}, Either((Integer(-(2**31), 2**31 - 1), Text()))),
        ({"type": ["integer", "string"]}, Either((Integer(), Text()))),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, Map(Text(), Anything())),
        ({"x-kubernetes-preserve-unknown-fields": True}, Anything()),
        ({"type": "string", "unheard-of": 1}, Text()),
    ],
)
def test_json_schemas(json_schema, schema):
    assert json_schema_at(json_schema) == Field("x", schema, may_be_missing=True, may_be_none=False)


@pytest.mark.parametrize(
    "json_schema",
    [
        {"type": "string", "nullable": True},
        {"type": ["string", "null"]},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"nullable": True, "allOf": [{"type": "string"}]},
        {"oneOf": [{"type": "string"}], "nullable": True},
    ],
)
def test_null_where_the_json_schema_allows_it(json_schema):
    assert json_schema_at(json_schema) == Field("x", Text(), may_be_missing=True, may_be_none=True)


def test_a_recursive_json_schema():
    document = {
        "$defs": {
            "node": {
                "type": "object",
                "required": ["value", "children"],
                "properties": {
                    "value": {"$ref": "#/$defs/a~1b"},
                    "next": {"allOf": [{"$ref": "#/$defs/node"}], "nullable": True},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                },
            },
            "a/b": {"type": "integer"},
        },
        "$ref": "#/$defs/node",
    }
    schema = schema_of_json_schema(document)
    assert at(schema, "value") == Integer()
    assert fields_of(schema)["next"].may_be_none
    assert at(schema, "next", "next", "children", "[]", "value") == Integer()
    for_all(schema)
    with pytest.raises(SchemaError, match="refers only to itself"):
        schema_of_json_schema({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}})
    with pytest.raises(SchemaError, match="refers only to itself"):
        schema_of_json_schema(
            {"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}, {"type": "object"}]}}}
        )
    with pytest.raises(SchemaError, match="every object would be infinite"):
        schema_of_json_schema({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}})
    with pytest.raises(SchemaError, match=r"'#/\$defs/nod', which does not exist; did you mean node\?"):
        schema_of_json_schema({**document, "$ref": "#/$defs/nod"})
    with pytest.raises(SchemaError, match="outside its document"):
        schema_of_json_schema({"$ref": "other.json#/a"})


@pytest.mark.parametrize(
    ("json_schema", "message"),
    [
        ({"type": "text"}, "x has the type 'text'"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "x must be at least 3, but at most 2"),
        ({"type": "string", "minLength": 3, "maxLength": 2}, "x must have at least 3 characters, but at most 2"),
        ({"type": "string", "pattern": "("}, "the pattern .* of x is not valid in Python"),
        ({"allOf": [{"type": "string"}, {"type": "object"}]}, "x must be string and object at the same time"),
        ({"allOf": [{"enum": [1]}, {"enum": [2]}]}, "x must be one of"),
        ({"type": "string", "enum": [1]}, "x allows no value"),
        ({"type": "object", "properties": {"a": {}}, "minProperties": 2}, "x has 1 fields"),
    ],
)
def test_json_schemas_without_objects(json_schema, message):
    with pytest.raises(SchemaError, match=message):
        json_schema_at(json_schema)


def test_what_is_made_is_valid():
    json_schema: dict[str, Any] = {
        "type": "object",
        "required": ["size", "extra"],
        "additionalProperties": {"type": "boolean"},
        "properties": {
            "size": {"type": "integer", "exclusiveMinimum": 0, "maximum": 10},
            "opt": {"type": ["string", "null"], "pattern": r"^\d{2,3}$"},
            "ratio": {"type": "number", "minimum": 0, "exclusiveMaximum": 1.5},
            "tags": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 5}, "maxProperties": 2},
            "source": {
                "type": "object",
                "properties": {"git": {"type": "string"}, "http": {"type": "string"}, "branch": {"type": "string"}},
                "oneOf": [{"required": ["git"]}, {"required": ["http"]}],
            },
            "one": {
                "type": "object",
                "minProperties": 1,
                "maxProperties": 1,
                "properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": "boolean"}},
            },
            "list": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"enum": ["a", None, 1]}},
            "both": {"allOf": [{"type": "string", "pattern": "^a"}, {"pattern": "b$"}]},
            "never": False,
        },
    }
    validator = jsonschema.Draft202012Validator(json_schema)
    for_all(schema_of_json_schema(json_schema), validator.validate, examples=60)


CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "spec": {
        "group": "example.com",
        "names": {"kind": "Widget"},
        "versions": [
            {
                "name": "v1alpha1",
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"old": {"type": "string"}}}},
            },
            {
                "name": "v1",
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "required": ["spec"],
                        "properties": {
                            "apiVersion": {"type": "string"},
                            "kind": {"type": "string"},
                            "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 20}}},
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "replicas": {"type": "integer"},
                                    "template": {"type": "object", "properties": {"metadata": {"type": "object"}}},
                                    "embedded": {"type": "object", "x-kubernetes-embedded-resource": True},
                                },
                            },
                        },
                    }
                },
            },
        ],
    },
}


def test_custom_resource_definitions():
    schema = schema_of_json_schema(CRD)
    assert isinstance(schema, Record)
    assert (schema.name, schema.style) == ("Widget", Style.ITEMS)
    assert schema.fields[:2] == (
        Field("apiVersion", Choice(("example.com/v1",)), may_be_missing=True, may_be_none=False),
        Field("kind", Choice(("Widget",)), may_be_missing=True, may_be_none=False),
    )
    fields = fields_of(schema)
    assert not fields["metadata"].may_be_missing
    assert at(schema, "metadata", "name").most == 20
    assert at(schema, "metadata", "labels") == LABELS
    assert not fields["spec"].may_be_missing
    assert at(schema, "spec", "replicas") == Integer(-(2**63), 2**63 - 1)
    assert at(schema, "spec", "template", "metadata") == metadata(MANIFEST)
    assert fields_of(at(schema, "spec", "template"))["metadata"].may_be_missing
    assert [one.name for one in at(schema, "spec", "embedded").fields] == ["apiVersion", "kind", "metadata"]
    old = schema_of_json_schema(CRD, "v1alpha1")
    assert fields_of(old)["apiVersion"].schema == Choice(("example.com/v1alpha1",))
    assert at(old, "old") == Text()
    with pytest.raises(SchemaError, match=r"Widget has no version 'v1alpha'; did you mean v1alpha1.*\?"):
        schema_of_json_schema(CRD, "v1alpha")


META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


@pytest.mark.parametrize("version", [2, 3])
def test_open_api_documents(version):
    prefix = "#/definitions/" if version == 2 else "#/components/schemas/"
    json_schemas = {
        "io.k8s.api.core.v1.Pod": {
            "type": "object",
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"$ref": prefix + META},
                "spec": {"allOf": [{"$ref": prefix + "io.k8s.api.core.v1.PodSpec"}], "default": {}},
            },
            "x-kubernetes-group-version-kind": [{"group": "", "kind": "Pod", "version": "v1"}],
        },
        "io.k8s.api.core.v1.PodSpec": {
            "type": "object",
            "properties": {
                "memory": {"$ref": prefix + "io.k8s.apimachinery.pkg.api.resource.Quantity"},
                "port": {"$ref": prefix + "io.k8s.apimachinery.pkg.util.intstr.IntOrString"},
            },
        },
        "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"},
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"type": "string", "format": "int-or-string"},
        META: {"type": "object", "properties": {"name": {"type": "string"}}},
    }
    document: dict[str, Any] = {"swagger": "2.0", "definitions": json_schemas}
    if version == 3:
        document = {"openapi": "3.0.0", "components": {"schemas": json_schemas}}
    for name in ("Pod", "v1.Pod", "io.k8s.api.core.v1.Pod"):
        schema = schema_of_json_schema(document, name)
        assert isinstance(schema, Record)
        assert schema.name == "Pod"
        assert fields_of(schema)["apiVersion"].schema == Choice(("v1",))
        assert at(schema, "metadata") == metadata(MANIFEST)
        assert at(schema, "spec", "memory") == Text(Format.QUANTITY)
        assert at(schema, "spec", "port") == Either((Integer(-(2**31), 2**31 - 1), Text()))
    with pytest.raises(SchemaError, match=r"no schema 'Podd'; did you mean io.k8s.api.core.v1.Pod\?"):
        schema_of_json_schema(document, "Podd")
    with pytest.raises(SchemaError, match=r"contains 5 schemas; choose one: io.k8s.api.core.v1.Pod, "):
        schema_of_json_schema(document)


class Model(pydantic.BaseModel):
    name: str = pydantic.Field(min_length=1, max_length=3)
    count: int | None = pydantic.Field(default=None, ge=0)
    inner: "Model | None" = None
    node_name: str = pydantic.Field(alias="nodeName")


def test_json_schemas_of_pydantic():
    schema = schema_of_json_schema(Model.model_json_schema())
    validator = jsonschema.Draft202012Validator(Model.model_json_schema())
    for_all(schema, validator.validate)
