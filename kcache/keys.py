"""Keys of objects: ``namespace/name``, or ``name`` for a cluster-scoped object (client-go ``store.go``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .errors import KeyFormatError
from .metadata import metadata_of, text_field


class ExplicitKey(str):
    """A key that can be passed to ``get`` and ``delete`` in place of an object (client-go ``ExplicitKey``).

    A plain ``str`` is not accepted as a key: that would hide mistakes.
    """

    __slots__ = ()


@dataclass(frozen=True)
class DeletedFinalStateUnknown:
    """A tombstone: the object was deleted during a gap in the watch; ``obj`` is its last known state.

    Source: client-go ``DeletedFinalStateUnknown``.
    """

    key: str
    obj: object


def meta_namespace_key_func(obj: object) -> str:
    """The default key function (client-go ``MetaNamespaceKeyFunc``).

    A cluster-scoped object called ``a/b`` and the object ``b`` in namespace ``a`` have the same key; Kubernetes
    allows no ``/`` in names.

    Raises:
        NoMetadataError: ``obj`` has no metadata.
    """
    # Each write computes a key, mostly of a plain manifest: so that case is checked first.
    name: Any = None
    namespace: Any = None
    if type(obj) is dict:
        metadata = obj.get("metadata")
        if type(metadata) is dict:
            name, namespace = metadata.get("name"), metadata.get("namespace")
    if type(name) is not str or type(namespace) is not str:
        if isinstance(obj, ExplicitKey):
            return str(obj)
        carrier = metadata_of(obj)
        name = text_field(carrier, "name", "name")
        namespace = text_field(carrier, "namespace", "namespace")
    return f"{namespace}/{name}" if namespace else name


def deletion_handling_meta_namespace_key_func(obj: object) -> str:
    """Return the key of a tombstone, or :func:`meta_namespace_key_func` of another object.

    Raises:
        NoMetadataError: ``obj`` has no metadata.
    """
    if isinstance(obj, DeletedFinalStateUnknown):
        return obj.key
    return meta_namespace_key_func(obj)


def split_meta_namespace_key(key: str) -> tuple[str, str]:
    """Split a key into ``(namespace, name)``; the namespace of a cluster-scoped object is empty.

    Raises:
        KeyFormatError: the key has more than two parts.
    """
    parts = key.split("/")
    if len(parts) == 1:
        return "", parts[0]
    if len(parts) == 2:
        return parts[0], parts[1]
    raise KeyFormatError(key)
