"""Kubernetes object metadata, read from objects of three styles (apimachinery ``meta.Accessor``).

The styles are: a manifest (a mapping with a ``metadata`` mapping), an object with a ``metadata`` attribute (the
official client's models), and a bare metadata object (``name`` and ``namespace`` attributes).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .errors import NoMetadataError

_MISSING = object()
_NEVER_METADATA = frozenset({type(None), str, bytes, bool, int, float, list, tuple})


def metadata_of(obj: object) -> object:
    """Return the part of ``obj`` that carries the metadata: a mapping, or an object with attributes.

    Raises:
        NoMetadataError: ``obj`` has no metadata.
    """
    if type(obj) is dict or isinstance(obj, Mapping):  # nearly all are a dict, and isinstance() takes longer
        metadata = obj.get("metadata")
    else:
        metadata = getattr(obj, "metadata", _MISSING)
        if metadata is _MISSING:
            if hasattr(obj, "name") and hasattr(obj, "namespace"):
                return obj
            raise NoMetadataError
    if type(metadata) in _NEVER_METADATA:
        description = "empty" if metadata is None else f"a {type(metadata).__name__}"
        raise NoMetadataError(f": its metadata is {description}")
    return metadata


def field(metadata: object, name: str, attribute: str) -> object:
    """Return one field of a result of :func:`metadata_of`; ``None`` if the field is absent."""
    if type(metadata) is dict or isinstance(metadata, Mapping):
        return metadata.get(name)
    return getattr(metadata, attribute, None)


def text_field(metadata: object, name: str, attribute: str) -> str:
    """Return one text field; if it is absent or ``None``, return the empty string, as in Go.

    Raises:
        NoMetadataError: the value of the field is no ``str``.
    """
    value = field(metadata, name, attribute)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise NoMetadataError(f": its {name} is a {type(value).__name__}, not a str")
    return value


@dataclass(frozen=True)
class ObjectMeta:
    """The metadata that stores and selectors use."""

    name: str
    namespace: str
    resource_version: str
    labels: Mapping[str, str]


def accessor(obj: object) -> ObjectMeta:
    """Return the metadata of ``obj``, in any of the three styles.

    Raises:
        NoMetadataError: ``obj`` has no metadata, or a field of it has the wrong type.
    """
    metadata = metadata_of(obj)
    return ObjectMeta(
        name=text_field(metadata, "name", "name"),
        namespace=text_field(metadata, "namespace", "namespace"),
        resource_version=resource_version_of(metadata),
        labels=labels_of(metadata),
    )


def resource_version_of(metadata: object) -> str:
    """Return the resource version in a result of :func:`metadata_of`; the empty string if there is none."""
    return text_field(metadata, "resourceVersion", "resource_version")


def labels_of(metadata: object) -> Mapping[str, str]:
    """Return the labels in a result of :func:`metadata_of`; empty if there are none.

    Raises:
        NoMetadataError: the labels are no mapping.
    """
    labels = field(metadata, "labels", "labels")
    if labels is None:
        return {}
    if not isinstance(labels, Mapping):
        raise NoMetadataError(f": its labels are a {type(labels).__name__}, not a mapping")
    return labels


def written_resource_version(obj: object) -> str | None:
    """Return the resource version of an object that is being written; ``None`` if the object has no metadata.

    Stores call this for each write, so the common styles come first, and it raises nothing. A check for Mapping takes
    as long as all other checks together; every Mapping has ``get``, so ``hasattr`` is checked first.
    """
    if type(obj) is dict:
        metadata = obj.get("metadata")
    else:
        metadata = getattr(obj, "metadata", None)
        if metadata is None:
            if hasattr(obj, "get") and isinstance(obj, Mapping):
                metadata = obj.get("metadata")
            elif hasattr(obj, "name") and hasattr(obj, "namespace"):
                metadata = obj
    if metadata is None:
        return None
    if isinstance(metadata, dict):
        version = metadata.get("resourceVersion")
    else:
        version = getattr(metadata, "resource_version", None)
        if version is None and isinstance(metadata, Mapping):
            version = metadata.get("resourceVersion")
    return version if isinstance(version, str) else ""
