"""Shapes of JSON Schemas, custom resource definitions and OpenAPI documents."""

from typing import (
    Any,
)

import jsonschema
import pydantic
import pytest

from kcache_conformance.fuzzing.shapes.from_schema import shape_of_schema
from kcache_conformance.fuzzing.shapes.kubernetes import LABELS, MANIFEST, metadata
from kcache_conformance.fuzzing.shapes.shape import (
    Anything,
    Choice,
    Either,
    Field,
    Flag,
    Format,
    Fraction,
    Listing,
    Record,
    ShapeError,
    Style,
    Table,
    Text,
    Whole,
)
from stateful_tests.shape_support import at, fields_of, for_all


def schema_at(schema: dict[str, Any]) -> Field:
    """The field ``x`` of an object with that schema."""
    return fields_of(shape_of_schema({"type": "object", "properties": {"x": schema}}))["x"]


@pytest.mark.parametrize(
    ("schema", "shape"),
    [
        ({}, Anything()),
        ({"type": "string"}, Text()),
        ({"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^a"}, Text(least=1, most=3, pattern="^a")),
        ({"pattern": r"^\d+$"}, Text(pattern=r"(?a)^\d+\Z")),
        ({"pattern": r"^[$[:alpha:]]\$$"}, Text(pattern=r"^[$A-Za-z]\$\Z")),
        ({"type": "string", "format": "date-time"}, Text(Format.TIME)),
        ({"type": "boolean"}, Flag()),
        ({"type": "integer"}, Whole()),
        ({"type": "integer", "format": "int32", "minimum": 0}, Whole(0, 2**31 - 1)),
        ({"type": "integer", "format": "int64"}, Whole(-(2**63), 2**63 - 1)),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True, "exclusiveMaximum": 5}, Whole(2, 4)),
        ({"type": "integer", "minimum": 1.5}, Whole(2)),
        ({"type": "number", "minimum": 0, "maximum": 1.5}, Either((Fraction(0.0, 1.5), Whole(0, 1)))),
        ({"type": "number", "minimum": 0.1, "maximum": 0.9, "format": "double"}, Fraction(0.1, 0.9)),
        ({"enum": ["a", 1, True]}, Choice(("a", 1, True))),
        ({"type": "string", "enum": ["a", 1]}, Choice(("a",))),
        ({"const": 3}, Choice((3,))),
        ({"type": "array"}, Listing(Anything())),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2}, Listing(Text(), 1, 2)),
        ({"type": "object"}, Table(Text(), Anything())),
        ({"additionalProperties": {"type": "integer"}, "maxProperties": 2}, Table(Text(), Whole(), most=2)),
        ({"type": "object", "additionalProperties": False}, Record((), name="x")),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, Either((Text(), Whole()))),
        ({"type": "string", "oneOf": [{"maxLength": 2}, {"minLength": 4}]}, Either((Text(most=2), Text(least=4)))),
        ({"allOf": [{"type": "string", "minLength": 1}, {"minLength": 2, "maxLength": 5}]}, Text(least=2, most=5)),
        ({"x-kubernetes-int-or-string": True}, Either((Whole(-(2**31), 2**31 - 1), Text()))),
        ({"type": ["integer", "string"]}, Either((Whole(), Text()))),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, Table(Text(), Anything())),
        ({"x-kubernetes-preserve-unknown-fields": True}, Anything()),
        ({"type": "string", "unheard-of": 1}, Text()),
    ],
)
def test_schemas(schema, shape):
    assert schema_at(schema) == Field("x", shape, may_be_missing=True, may_be_none=False)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "nullable": True},
        {"type": ["string", "null"]},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"nullable": True, "allOf": [{"type": "string"}]},
        {"oneOf": [{"type": "string"}], "nullable": True},
    ],
)
def test_null_where_the_schema_allows_it(schema):
    assert schema_at(schema) == Field("x", Text(), may_be_missing=True, may_be_none=True)


def test_a_recursive_schema():
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
    shape = shape_of_schema(document)
    assert at(shape, "value") == Whole()
    assert fields_of(shape)["next"].may_be_none
    assert at(shape, "next", "next", "children", "[]", "value") == Whole()
    for_all(shape)
    with pytest.raises(ShapeError, match="refers to nothing but itself"):
        shape_of_schema({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}})
    with pytest.raises(ShapeError, match="refers to nothing but itself"):
        shape_of_schema({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}, {"type": "object"}]}}})
    with pytest.raises(ShapeError, match="no object ever ends"):
        shape_of_schema({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}})
    with pytest.raises(ShapeError, match=r"'#/\$defs/nod', which is not there; did you mean node\?"):
        shape_of_schema({**document, "$ref": "#/$defs/nod"})
    with pytest.raises(ShapeError, match="outside of its document"):
        shape_of_schema({"$ref": "other.json#/a"})


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "text"}, "x has the type 'text'"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "x must be at least 3, but at most 2"),
        ({"type": "string", "minLength": 3, "maxLength": 2}, "x must have 3 characters, but at most 2"),
        ({"type": "string", "pattern": "("}, "the pattern .* of x is none in Python"),
        ({"allOf": [{"type": "string"}, {"type": "object"}]}, "x must be string and object at the same time"),
        ({"allOf": [{"enum": [1]}, {"enum": [2]}]}, "x must be one of"),
        ({"type": "string", "enum": [1]}, "x allows no value"),
        ({"type": "object", "properties": {"a": {}}, "minProperties": 2}, "x has 1 fields"),
    ],
)
def test_schemas_without_objects(schema, message):
    with pytest.raises(ShapeError, match=message):
        schema_at(schema)


def test_what_is_made_is_valid():
    schema: dict[str, Any] = {
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
    validator = jsonschema.Draft202012Validator(schema)
    for_all(shape_of_schema(schema), validator.validate, examples=60)


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
    shape = shape_of_schema(CRD)
    assert isinstance(shape, Record)
    assert (shape.name, shape.style) == ("Widget", Style.ITEMS)
    assert shape.fields[:2] == (
        Field("apiVersion", Choice(("example.com/v1",)), may_be_missing=True, may_be_none=False),
        Field("kind", Choice(("Widget",)), may_be_missing=True, may_be_none=False),
    )
    fields = fields_of(shape)
    assert not fields["metadata"].may_be_missing
    assert at(shape, "metadata", "name").most == 20
    assert at(shape, "metadata", "labels") == LABELS
    assert not fields["spec"].may_be_missing
    assert at(shape, "spec", "replicas") == Whole(-(2**63), 2**63 - 1)
    assert at(shape, "spec", "template", "metadata") == metadata(MANIFEST)
    assert fields_of(at(shape, "spec", "template"))["metadata"].may_be_missing
    assert [one.name for one in at(shape, "spec", "embedded").fields] == ["apiVersion", "kind", "metadata"]
    old = shape_of_schema(CRD, "v1alpha1")
    assert fields_of(old)["apiVersion"].shape == Choice(("example.com/v1alpha1",))
    assert at(old, "old") == Text()
    with pytest.raises(ShapeError, match=r"Widget has no version 'v1alpha'; did you mean v1alpha1.*\?"):
        shape_of_schema(CRD, "v1alpha")


META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


@pytest.mark.parametrize("version", [2, 3])
def test_open_api_documents(version):
    prefix = "#/definitions/" if version == 2 else "#/components/schemas/"
    schemas = {
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
    document: dict[str, Any] = {"swagger": "2.0", "definitions": schemas}
    if version == 3:
        document = {"openapi": "3.0.0", "components": {"schemas": schemas}}
    for name in ("Pod", "v1.Pod", "io.k8s.api.core.v1.Pod"):
        shape = shape_of_schema(document, name)
        assert isinstance(shape, Record)
        assert shape.name == "Pod"
        assert fields_of(shape)["apiVersion"].shape == Choice(("v1",))
        assert at(shape, "metadata") == metadata(MANIFEST)
        assert at(shape, "spec", "memory") == Text(Format.QUANTITY)
        assert at(shape, "spec", "port") == Either((Whole(-(2**31), 2**31 - 1), Text()))
    with pytest.raises(ShapeError, match=r"no schema 'Podd'; did you mean io.k8s.api.core.v1.Pod\?"):
        shape_of_schema(document, "Podd")
    with pytest.raises(ShapeError, match=r"holds 5 schemas; say which one: io.k8s.api.core.v1.Pod, "):
        shape_of_schema(document)


class Model(pydantic.BaseModel):
    name: str = pydantic.Field(min_length=1, max_length=3)
    count: int | None = pydantic.Field(default=None, ge=0)
    inner: "Model | None" = None
    node_name: str = pydantic.Field(alias="nodeName")


def test_schemas_of_pydantic():
    shape = shape_of_schema(Model.model_json_schema())
    validator = jsonschema.Draft202012Validator(Model.model_json_schema())
    for_all(shape, validator.validate)
