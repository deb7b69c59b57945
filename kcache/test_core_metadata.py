from __future__ import annotations

from collections import UserDict
from dataclasses import dataclass, field
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

from kcache import (
    Cache,
    KeyFuncError,
    NoMetadataError,
    ObjectMeta,
    accessor,
    label_index_func,
    meta_namespace_key_func,
    new_indexer,
    parse_selector,
)

_PLAIN = ObjectMeta(name="n", namespace="ns", resource_version="7", labels={"a": "1"})
_EMPTY = ObjectMeta(name="", namespace="", resource_version="", labels={})

_FIELDS = {"name": "n", "namespace": "ns", "resourceVersion": "7", "labels": {"a": "1"}, "uid": "u"}


class _Meta:
    """Like a model of the official client: all attributes exist, most of them are None."""

    def __init__(self, **fields: Any) -> None:
        self.name = self.namespace = self.resource_version = self.labels = self.annotations = None
        vars(self).update(fields)


class _Model:
    def __init__(self, metadata: object) -> None:
        self.api_version = self.kind = self.spec = None
        self._metadata = metadata

    @property
    def metadata(self) -> object:
        return self._metadata


@dataclass
class _Slots:
    name: str
    namespace: str
    labels: dict[str, str] = field(default_factory=dict)


class _TupleMeta(NamedTuple):
    name: str
    namespace: str
    resource_version: str
    labels: dict[str, str]


_FULL = {"name": "n", "namespace": "ns", "resource_version": "7", "labels": {"a": "1"}}


@pytest.mark.parametrize(
    "obj",
    [
        {"metadata": _FIELDS},
        {"apiVersion": "v1", "kind": "Pod", "metadata": _FIELDS, "spec": {}},
        MappingProxyType({"metadata": MappingProxyType(_FIELDS)}),
        UserDict({"metadata": UserDict(_FIELDS)}),
        _Model(_Meta(**_FULL)),
        _Model(_FIELDS),
        _Model(_TupleMeta("n", "ns", "7", {"a": "1"})),
        {"metadata": _Meta(**_FULL)},
        _Meta(**_FULL),
        SimpleNamespace(**_FULL),
    ],
    ids=lambda obj: type(obj).__name__,
)
def test_every_style_reads_the_same(obj: Any) -> None:
    assert accessor(obj) == _PLAIN
    assert meta_namespace_key_func(obj) == "ns/n"
    assert label_index_func(obj) == ["a", "a=1"]
    store = new_indexer(meta_namespace_key_func)
    store.add(obj)
    assert store.last_sync_resource_version() == "7"
    assert store.get_by_key("ns/n") is obj


@pytest.mark.parametrize(
    "obj",
    [
        {"metadata": {}},
        {"metadata": {"name": None, "namespace": None, "resourceVersion": None, "labels": None}},
        _Model(_Meta()),
        _Model(SimpleNamespace()),
        _Meta(),
    ],
    ids=lambda obj: type(obj).__name__,
)
def test_absent_and_none_fields_are_empty(obj: Any) -> None:
    assert accessor(obj) == _EMPTY
    store = new_indexer(meta_namespace_key_func)
    store.bookmark("5")
    store.add(obj)
    assert store.last_sync_resource_version() == ""


def test_fields_that_an_object_lacks_are_empty() -> None:
    assert accessor(_Slots("n", "ns")) == ObjectMeta("n", "ns", "", {})


@pytest.mark.parametrize(
    "obj",
    [
        None,
        5,
        "n",
        b"n",
        [],
        ("metadata",),
        object(),
        SimpleNamespace(name="n"),
        SimpleNamespace(namespace="n"),
        SimpleNamespace(meta=_Meta()),
    ],
    ids=lambda obj: type(obj).__name__,
)
def test_no_metadata_at_all(obj: object) -> None:
    with pytest.raises(NoMetadataError) as caught:
        accessor(obj)
    assert str(caught.value) == "object has no meta: object does not implement the Object interfaces"
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize("obj", [{}, {"metadata": None}, _FIELDS, _Model(None)], ids=lambda obj: type(obj).__name__)
def test_metadata_that_is_none(obj: object) -> None:
    # A bare metadata object has attributes; a bare mapping is taken for a manifest that lacks its metadata.
    with pytest.raises(NoMetadataError, match=r": its metadata is empty$"):
        accessor(obj)


@pytest.mark.parametrize("make", [lambda metadata: {"metadata": metadata}, _Model], ids=["manifest", "model"])
@pytest.mark.parametrize(
    ("metadata", "type_name"),
    [("n", "str"), (b"n", "bytes"), (5, "int"), (1.5, "float"), (True, "bool"), (["n"], "list"), (("n",), "tuple")],
)
def test_metadata_of_the_wrong_type(make: Any, metadata: object, type_name: str) -> None:
    for read in (accessor, meta_namespace_key_func, label_index_func):
        with pytest.raises(NoMetadataError, match=f": its metadata is a {type_name}$"):
            read(make(metadata))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("name", 5, "its name is a int, not a str"),
        ("name", b"n", "its name is a bytes, not a str"),
        ("namespace", ["ns"], "its namespace is a list, not a str"),
        ("resourceVersion", 7, "its resourceVersion is a int, not a str"),
        ("labels", [("a", "1")], "its labels are a list, not a mapping"),
        ("labels", "a=1", "its labels are a str, not a mapping"),
    ],
)
def test_fields_of_the_wrong_type(name: str, value: object, message: str) -> None:
    attributes = {**_FULL, {"resourceVersion": "resource_version"}.get(name, name): value}
    for obj in ({"metadata": {**_FIELDS, name: value}}, _Model(_Meta(**attributes)), _Meta(**attributes)):
        with pytest.raises(NoMetadataError) as caught:
            accessor(obj)
        assert str(caught.value).endswith(f": {message}")


def test_the_key_needs_no_more_than_name_and_namespace() -> None:
    obj = {"metadata": {**_FIELDS, "labels": 5, "resourceVersion": 7}}
    assert meta_namespace_key_func(obj) == "ns/n"
    store = new_indexer(meta_namespace_key_func)
    store.bookmark("5")
    store.add(obj)
    assert store.last_sync_resource_version() == ""


def test_object_meta_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        accessor({"metadata": _FIELDS}).name = "other"  # type: ignore[misc]


def test_models_of_the_official_client() -> None:
    client = pytest.importorskip("kubernetes.client")
    pod = client.V1Pod(
        metadata=client.V1ObjectMeta(name="n", namespace="ns", resource_version="7", labels={"a": "1"}),
        spec=client.V1PodSpec(containers=[client.V1Container(name="c")], node_name="node-1"),
    )
    node = client.V1Node(metadata=client.V1ObjectMeta(name="node-1", resource_version="8"))
    assert accessor(pod) == accessor(pod.metadata) == _PLAIN
    assert accessor(node) == ObjectMeta("node-1", "", "8", {})
    assert accessor(client.V1ObjectMeta()) == _EMPTY
    with pytest.raises(NoMetadataError):
        accessor(client.V1Pod())

    store: Cache[Any] = new_indexer(
        meta_namespace_key_func,
        {"label": label_index_func, "node": lambda obj: [obj.spec.node_name] if obj.spec else []},
    )
    store.replace([pod, node], "9")
    assert sorted(store.list_keys()) == ["node-1", "ns/n"]
    assert store.by_index("node", "node-1") == [pod]
    assert store.by_index("label", "a=1") == [pod]
    assert parse_selector("a=1,!b").matches(accessor(pod).labels)
    store.update(node)
    assert store.last_sync_resource_version() == "8"
    # Its text is the whole model, over a hundred lines; the error must stay readable.
    with pytest.raises(KeyFuncError) as caught:
        store.add(client.V1Pod(spec=client.V1PodSpec(containers=[client.V1Container(name="c" * 2000)])))
    assert str(caught.value).endswith(
        "...: object has no meta: object does not implement the Object interfaces: its metadata is empty"
    )
    assert len(str(caught.value)) < 700
