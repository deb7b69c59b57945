"""Models are those that the official client makes itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kcache.informers.kubernetes_models import model_maker

client: Any = pytest.importorskip("kubernetes.client")
if not hasattr(client.V1Pod, "model_validate"):
    pytest.skip("clients before 37 are asked for each object", allow_module_level=True)

_METADATA = {
    "name": "x",
    "namespace": "a",
    "labels": {"app": "é"},
    "annotations": {},
    "creationTimestamp": "2026-01-01T00:00:00.5Z",
    "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u", "controller": None}],
    "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {".": {}}}}],
}
_CONTAINER = {
    "name": "web",
    "env": [{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}],
    "livenessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 5},
    "resources": {"limits": {"cpu": "1"}},
}
_SCHEMA = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {"not": {"$ref": "#"}}}}
_VERSION = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _SCHEMA}}
_NAMES = {"kind": "Widget", "plural": "widgets"}

MANIFESTS = {
    "V1Pod": {"spec": {"containers": [_CONTAINER], "nodeName": None}, "status": {"phase": "Running", "podIPs": []}},
    "V1ConfigMap": {"data": {"key": "value"}, "binaryData": {"key": "aGk="}, "immutable": True},
    "V1Secret": {"data": {"key": "aGk="}, "type": "Opaque"},
    "V1Service": {"spec": {"ports": [{"port": 80, "targetPort": 8080}, {"port": 81, "targetPort": "web"}]}},
    "V1NetworkPolicy": {
        "spec": {"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": "c", "except": ["d"]}}]}]}
    },
    "V1CustomResourceDefinition": {
        "spec": {"group": "example.com", "names": _NAMES, "scope": "Namespaced", "versions": [_VERSION]}
    },
}


class _OwnApiClient(client.ApiClient):
    """As an application may have it."""

    def deserialize(self, response_text: str, response_type: str, content_type: str | None) -> Any:
        return response_type, json.loads(response_text), content_type


def _deserialized(model: str, manifest: Any) -> Any:
    return client.ApiClient().deserialize(json.dumps(manifest), model, "application/json")


@pytest.mark.parametrize("model", MANIFESTS)
@pytest.mark.parametrize("added", [{}, {"fieldOfANewerServer": {"x": 1}}])
def test_models_are_those_of_the_client(model: str, added: dict[str, Any]) -> None:
    manifest = {"apiVersion": "v1", "kind": model, "metadata": {**_METADATA, **added}, **MANIFESTS[model], **added}
    made, expected = model_maker(client.ApiClient(), model)(manifest), _deserialized(model, manifest)
    assert type(made) is type(expected)
    assert made == expected
    assert made.to_json() == expected.to_json()
    assert client.ApiClient().sanitize_for_serialization(made) == client.ApiClient().sanitize_for_serialization(
        expected
    )


def test_what_only_the_client_takes_is_left_to_it() -> None:
    manifest = {"spec": {"containers": {}}}
    assert model_maker(client.ApiClient(), "V1Pod")(manifest) == _deserialized("V1Pod", manifest)


def test_what_the_client_refuses_is_refused() -> None:
    with pytest.raises(ValueError, match="image"):
        model_maker(client.ApiClient(), "V1Pod")({"spec": {"containers": [{"image": 7}]}})


def test_a_client_that_deserializes_in_its_own_way_is_asked() -> None:
    manifest = {"metadata": _METADATA}
    assert model_maker(_OwnApiClient(), "V1Pod")(manifest) == ("V1Pod", manifest, "application/json")
    api_client = client.ApiClient()
    api_client.deserialize = _OwnApiClient().deserialize
    assert model_maker(api_client, "V1Pod")(manifest) == ("V1Pod", manifest, "application/json")
