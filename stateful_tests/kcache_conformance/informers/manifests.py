"""Objects as the server keeps them: manifests. A new version is a new dict; what was handed out never changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Manifest: TypeAlias = dict[str, Any]
Labels: TypeAlias = Mapping[str, str]


def key_of(name: str, namespace: str) -> str:
    """``namespace/name``, or the bare name of an object without a namespace."""
    return f"{namespace}/{name}" if namespace else name


def new_manifest(
    api_version: str,
    kind: str,
    *,
    name: str,
    namespace: str,
    uid: str,
    resource_version: int,
    labels: Labels | None,
    spec: Mapping[str, Any],
) -> Manifest:
    """The first version of an object; its labels are left out if there are none."""
    metadata: Manifest = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    metadata |= {"uid": uid, "resourceVersion": str(resource_version)}
    if labels:
        metadata["labels"] = dict(labels)
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": dict(spec)}


def changed(manifest: Manifest, resource_version: int, *, labels: Labels | None, spec: Mapping[str, Any]) -> Manifest:
    """The next version: other labels unless they are ``None``, and other values for the fields of ``spec``."""
    result = with_resource_version(manifest, resource_version)
    if labels is not None:
        result["metadata"]["labels"] = dict(labels)
    result["spec"] = manifest["spec"] | spec
    return result


def with_status(manifest: Manifest, resource_version: int, status: Mapping[str, Any]) -> Manifest:
    """The next version: other values for these fields of ``status``, and nothing else."""
    return with_resource_version(manifest, resource_version) | {"status": manifest.get("status", {}) | status}


def with_resource_version(manifest: Manifest, resource_version: int) -> Manifest:
    """The same state under another resource version."""
    return manifest | {"metadata": manifest["metadata"] | {"resourceVersion": str(resource_version)}}


def bookmark(api_version: str, kind: str, resource_version: int) -> Manifest:
    """The object of a bookmark: nothing but a resource version."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"resourceVersion": str(resource_version)}}
