"""Index functions that most users need."""

from __future__ import annotations

from .metadata import labels_of, metadata_of, text_field

NAMESPACE_INDEX = "namespace"
"""The name of the namespace index, which listers use (client-go ``NamespaceIndex``)."""


def meta_namespace_index_func(obj: object) -> list[str]:
    """Index by namespace; the value of cluster-scoped objects is the empty string.

    Source: client-go ``MetaNamespaceIndexFunc``.

    Raises:
        NoMetadataError: ``obj`` has no metadata.
    """
    return [text_field(metadata_of(obj), "namespace", "namespace")]


def label_index_func(obj: object) -> list[str]:
    """Index by label: the values are ``key`` and ``key=value`` for each label.

    Raises:
        NoMetadataError: ``obj`` has no metadata.
    """
    values = []
    for key, value in labels_of(metadata_of(obj)).items():
        values += [key, f"{key}={value}"]
    return values
