"""Schemas of samples."""

import json
from datetime import datetime
from typing import (
    Any,
)

import pytest

from kcache_conformance.fuzzing.judging.validity import is_valid
from kcache_conformance.fuzzing.schemas.from_samples import schema_of_samples
from kcache_conformance.fuzzing.schemas.kubernetes import MANIFEST, metadata
from kcache_conformance.fuzzing.schemas.sample_files import read_samples
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
    Nothing,
    Number,
    Record,
    SchemaError,
    Text,
)
from stateful_tests.material.schema_support import at, fields_of, for_all


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": spec}


PODS = [
    pod(
        "web-0",
        nodeName="n1",
        nodeSelector={"disk/type": "ssd"},
        containers=[{"name": "a", "resources": {"limits": {"cpu": "1"}}}],
    ),
    pod("web-1", nodeName=None, containers=[{"name": "b", "image": "nginx"}, {"name": "c"}]),
]


def test_one_schema_for_all_samples():
    schema = schema_of_samples(PODS)
    assert isinstance(schema, Record)
    assert schema.name == "Pod"
    fields = fields_of(schema)
    assert fields["kind"] == Field("kind", Choice(("Pod",)), False, False)
    assert fields["apiVersion"] == Field("apiVersion", Choice(("v1",)), False, False)
    assert (fields["metadata"].may_be_missing, fields["metadata"].may_be_none) == (False, False)
    assert (fields["spec"].may_be_missing, fields["spec"].may_be_none) == (True, False)
    name = fields_of(fields["metadata"].schema)["name"]
    assert (name.schema.format, name.schema.examples) == (Format.NAME, ("web-0", "web-1"))
    assert name.may_be_missing
    assert name.may_be_none
    labels = at(schema, "metadata", "labels")
    assert (labels.key.format, labels.key.examples) == (Format.LABEL_KEY, ("app",))
    assert (labels.value.format, labels.value.examples) == (Format.LABEL_VALUE, ("web-0", "web-1"))
    assert set(fields_of(fields["metadata"].schema)) == {one.name for one in metadata(MANIFEST).fields}
    spec = fields_of(fields["spec"].schema)
    assert (spec["nodeName"].may_be_missing, spec["nodeName"].may_be_none) == (False, True)
    assert spec["nodeName"].schema.format is Format.NAME
    assert (spec["nodeSelector"].may_be_missing, spec["nodeSelector"].may_be_none) == (True, False)
    assert isinstance(spec["nodeSelector"].schema, Map)
    container = fields_of(at(spec["containers"].schema, "[]"))
    assert not container["name"].may_be_missing
    assert container["image"].may_be_missing
    assert container["image"].schema.examples == ("nginx",)
    limits = at(container["resources"].schema, "limits")
    assert (limits.value.format, limits.value.examples) == (Format.QUANTITY, ("1",))
    assert all(is_valid(one, schema) for one in PODS)


def test_samples_of_a_custom_kind():
    samples = [
        {
            "kind": "Widget",
            "metadata": {"name": "Not A Name", "managedFields": [{"manager": "me"}]},
            "data": {"a.txt": "x"},
            "spec": {"size": 1, "ratio": 0.5, "mixed": 1, "on": True, "list": [], "none": None,
                     "when": "2024-01-01T00:00:00Z", "owners": {f"team-{n}": n}, "big": 2**40,
                     "empty": {}, "signed": -1, "lists": [[1], ["a"]]},
        }
        for n in range(2)
    ]  # fmt: skip
    samples[1]["spec"]["mixed"] = "one"
    samples[1]["spec"]["ratio"] = 2
    schema = schema_of_samples(samples)
    spec = at(schema, "spec")
    assert at(schema, "metadata", "name") == Text(examples=("Not A Name",))
    assert fields_of(at(schema, "metadata"))["managedFields"].may_be_none
    assert at(schema, "data") == Map(Text(Format.LABEL_KEY, examples=("a.txt",)), Text(examples=("x",)))
    assert at(spec, "size") == Integer(0, 2**31 - 1)
    assert at(spec, "signed") == Integer(-(2**31), 2**31 - 1)
    assert at(spec, "big") == Integer(0, 2**63 - 1)
    assert at(spec, "ratio") == Either((Number(), Integer(0, 2**31 - 1)))
    assert at(spec, "mixed") == Either((Integer(0, 2**31 - 1), Text(examples=("one",))))
    assert at(spec, "on") == Boolean()
    assert at(spec, "list") == Array(Anything(), most=0)
    assert at(spec, "lists", "[]") == Array(Either((Integer(0, 2**31 - 1), Text(examples=("a",)))))
    assert at(spec, "when") == Text(Format.TIME, examples=("2024-01-01T00:00:00Z",))
    assert fields_of(spec)["none"] == Field("none", Nothing(), False, True)
    assert at(spec, "owners").key.examples == ("team-0", "team-1")
    assert at(spec, "empty") == Record((), name="empty")
    assert all(is_valid(one, schema) for one in samples)
    for_all(schema)


def test_keys_that_differ_widely_are_no_fields():
    samples = [{"kind": "Map", "spec": {"teams": {f"team{n}{part}": n for part in "ab"}}} for n in range(4)]
    assert isinstance(at(schema_of_samples(samples), "spec", "teams"), Map)
    alike = [
        {"kind": "Map", "spec": {"volume": {"name": "a", kind: {}}}}
        for kind in ("secret", "configMap", "csi", "nfs", "hostPath")
    ]
    volume = fields_of(at(schema_of_samples(alike), "spec", "volume"))
    assert not volume["name"].may_be_missing
    assert volume["csi"].may_be_missing


def test_samples_of_several_kinds():
    schema = schema_of_samples([*PODS, {"kind": "Node", "metadata": {"name": "n"}}])
    assert isinstance(schema, Either)
    assert [one.name for one in schema.options] == ["Pod", "Node"]
    unnamed = schema_of_samples([PODS[0], {"metadata": {"name": "n"}}])
    assert fields_of(unnamed)["kind"] == Field("kind", Choice(("Pod",)), True, False)
    assert schema_of_samples([{"a": 1}, {"a": None, "b": "x"}]) == Record(
        (Field("a", Integer(0, 2**31 - 1), False, True), Field("b", Text(examples=("x",)), True, False))
    )


@pytest.mark.parametrize("samples", [[], [{"a": object()}], [{1: 2}], [{"a": datetime(2024, 1, 1)}]])
def test_samples_that_are_no_plain_values(samples):
    with pytest.raises(SchemaError):
        schema_of_samples(samples)


def test_files_of_samples(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.yaml").write_text(
        "kind: List\nitems:\n- {kind: Pod, metadata: {creationTimestamp: 2024-01-01T00:00:00Z}}\n- kind: Node\n"
        "---\n# nothing\n---\nkind: Secret\ndata: {2: a, true: b, 2024-01-01: c}\n"
    )
    (tmp_path / "deep" / "b.json").write_text(json.dumps([{"kind": "Job"}, {"kind": "PodList", "items": [{"a": 1}]}]))
    (tmp_path / "deep" / "notes.txt").write_text("no manifest")
    found = [
        {"kind": "Pod", "metadata": {"creationTimestamp": "2024-01-01T00:00:00Z"}},
        {"kind": "Node"},
        {"kind": "Secret", "data": {"2": "a", "true": "b", "2024-01-01": "c"}},
        {"kind": "Job"},
        {"a": 1},
    ]
    assert read_samples([tmp_path]) == found
    assert read_samples([tmp_path / "deep" / "b.json", tmp_path / "a.yaml"]) == [*found[3:], *found[:3]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.yaml", b"a: 1\nb: [1\nc: 2\n", r"a\.yaml:3: "),
        ("a.yml", b"a: 1\nb: !!python/object:os.system {}\n", r"a\.yml:2: "),
        ("a.json", b'{\n"a": }', r"a\.json:2: "),
        ("a.yaml", b"a: \xff", r"a\.yaml is not UTF-8"),
        ("a.yaml", b"a: \x01", r"a\.yaml: special characters are not allowed"),
        ("a.yaml", b"# nothing\n", r"a\.yaml contains no objects"),
        ("a.json", b"", r"a\.json contains no objects"),
        ("a.yaml", b"a: &a [*a]\n", r"a\.yaml refers to itself"),
        ("a.yaml", b"a: !!binary YQ==\n", r"a\.yaml contains a bytes"),
    ],
)
def test_broken_files(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SchemaError, match=message):
        read_samples([tmp_path / name])
    with pytest.raises(SchemaError, match=r"missing.yaml does not exist"):
        read_samples([tmp_path / "missing.yaml"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(SchemaError, match="empty contains no objects"):
        read_samples([tmp_path / "empty"])
