"""Manifests: the objects of the server. A new version is a new dict; dicts that clients have received never change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Manifest: TypeAlias = dict[str, Any]
Labels: TypeAlias = Mapping[str, str]


def key_of(name: str, namespace: str) -> str:
    """``namespace/name``, or the bare name of an object without a namespace."""
    return f"{namespace}/{name}" if namespace else name


def changed(
    manifest: Manifest, resource_version: int, labels: Labels | None = None, **fields: Mapping[str, Any]
) -> Manifest:
    """Return the next version: with new labels unless they are ``None``, and with new values in these fields."""
    metadata = manifest["metadata"] | {"resourceVersion": str(resource_version)}
    if labels is not None:
        metadata["labels"] = dict(labels)
    parts = {field: manifest.get(field, {}) | values for field, values in fields.items()}
    return manifest | {"metadata": metadata} | parts
