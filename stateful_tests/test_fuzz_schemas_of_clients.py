"""Schemas of the models of Kubernetes clients."""

import types
from dataclasses import dataclass

import pytest

from kcache_conformance.fuzzing.schemas.from_client import is_client_model, schema_of_client_model
from kcache_conformance.fuzzing.schemas.from_types import schema_of_type
from kcache_conformance.fuzzing.schemas.kubernetes import LABELS, MANIFEST, QUANTITIES, metadata
from kcache_conformance.fuzzing.schemas.schema import (
    Anything,
    Array,
    Choice,
    Either,
    Field,
    Format,
    Integer,
    Later,
    Moment,
    Record,
    SchemaError,
    Style,
    Text,
    resolved,
)
from stateful_tests.material.schema_support import at, fields_of, for_all

client = pytest.importorskip("kubernetes.client")


def test_client_models_have_the_formats_of_the_api_server():
    assert is_client_model(client.V1Pod)
    assert not is_client_model(Field)
    assert not is_client_model(client.V1Pod(metadata=client.V1ObjectMeta()))
    schema = schema_of_type(client.V1Pod)
    assert isinstance(schema, Record)
    assert (schema.style, schema.make, schema.name) == (Style.CLASS, client.V1Pod, "V1Pod")
    fields = fields_of(schema)
    assert not fields["metadata"].may_be_none
    assert not fields["metadata"].may_be_missing
    assert fields["spec"].may_be_none
    assert isinstance(fields["spec"].schema, Later)
    assert fields["kind"].schema == Choice(("Pod",))
    meta = fields_of(fields["metadata"].schema)
    known = {one.name: one.schema for one in metadata(MANIFEST).fields}
    for name in ("name", "namespace", "labels", "annotations", "uid", "generation", "finalizers"):
        assert meta[name].schema == known[name]
        assert meta[name].may_be_none
    assert meta["creation_timestamp"].schema == Moment()
    assert meta["resource_version"] == Field("resource_version", known["resourceVersion"], aliases=("resourceVersion",))
    assert resolved(fields["metadata"].schema).make is client.V1ObjectMeta
    assert at(schema, "metadata", "owner_references", "[]").make is client.V1OwnerReference


def test_required_fields_of_client_models():
    spec = fields_of(at(schema_of_type(client.V1Pod), "spec"))
    assert not spec["containers"].may_be_none
    assert not spec["containers"].may_be_missing
    assert spec["node_name"].may_be_none
    container = spec["containers"].schema
    assert fields_of(at(container, "[]"))["name"].may_be_none is False
    assert at(container, "[]", "resources", "requests") == QUANTITIES
    assert fields_of(schema_of_type(client.V1OwnerReference))["uid"].may_be_none is False
    assert at(schema_of_type(client.V1ServicePort), "target_port") == Either((Integer(1, 65535), Text()))
    assert at(schema_of_type(client.V1Secret), "data").value == Text(examples=("", "YWRtaW4="))
    assert fields_of(schema_of_type(client.V1PodTemplateSpec))["metadata"].may_be_none
    assert at(schema_of_type(client.V1StatefulSet), "kind") == Choice(("StatefulSet",))


@pytest.mark.parametrize(
    "name", ["V1Pod", "V1Service", "V1Node", "CoreV1Event", "V1Deployment", "V1Secret", "V1LimitRange"]
)
def test_client_models_accept_what_is_made(name):
    for_all(schema_of_client_model(getattr(client, name)), examples=8)


def test_client_models_within_other_types():
    @dataclass
    class Entry:
        pod: client.V1Pod
        seen: int = 0

    assert at(schema_of_type(Entry), "pod").make is client.V1Pod


class V1OldThing:
    openapi_types = {  # noqa: RUF012
        "api_version": "str",
        "kind": "str",
        "metadata": "V1ObjectMeta",
        "port": "int",
        "names": "list[str]",
        "limits": "dict(str, str)",
        "others": "dict(str, list[V1OldThing])",
        "when": "datetime",
        "free": "object",
    }
    attribute_map = {name: name for name in openapi_types} | {"api_version": "apiVersion"}

    def __init__(self, local_vars_configuration=None, **given):
        self.local_vars_configuration = local_vars_configuration or types.SimpleNamespace(client_side_validation=True)
        self._port = None
        for name in self.openapi_types:
            setattr(self, name, given.get(name))

    @property
    def port(self):
        return self._port

    @port.setter
    def port(self, port):
        if self.local_vars_configuration.client_side_validation and port is None:
            raise ValueError("Invalid value for `port`, must not be `None`")
        self._port = port


class V1ObjectMeta:
    openapi_types = {"name": "str", "labels": "dict(str, str)", "managed_fields": "list[object]"}  # noqa: RUF012
    attribute_map = {name: name for name in openapi_types}  # noqa: RUF012

    def __init__(self, local_vars_configuration=None, name=None, labels=None, managed_fields=None):
        self.local_vars_configuration = local_vars_configuration
        self.name, self.labels, self.managed_fields = name, labels, managed_fields


class V1Odd:
    openapi_types = {"what": "V1Elsewhere"}  # noqa: RUF012
    attribute_map = {"what": "what"}  # noqa: RUF012


def test_models_of_older_clients():
    schema = schema_of_type(V1OldThing)
    fields = fields_of(schema)
    assert schema.make is V1OldThing
    assert fields["port"] == Field("port", Integer(1, 65535), False, False)
    assert not fields["metadata"].may_be_none
    assert fields["kind"].schema == Choice(("OldThing",))
    assert fields["api_version"].aliases == ("apiVersion",)
    assert fields["names"].schema == Array(Text())
    assert fields["limits"].schema == QUANTITIES
    assert resolved(fields["others"].schema.value.item) is schema
    assert fields["when"] == Field("when", Moment())
    assert fields["free"].schema == Anything()
    meta = at(schema, "metadata")
    assert at(meta, "labels") == LABELS
    assert at(meta, "name").format is Format.NAME
    for_all(schema, examples=10)
    with pytest.raises(SchemaError, match=r"V1Odd.what has the type 'V1Elsewhere', which was not found near the class"):
        schema_of_type(V1Odd)
