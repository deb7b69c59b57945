"""Comparison of manifests by key and version. Never instrumented: reading immutable objects is not an event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from .stories import Version

TRANSFORMED: Final = "kcache/transformed"
"""The annotation in which the transformer counts its calls for an object."""


def key_of_object(obj: Any) -> str:
    """Return ``namespace/name`` of a manifest, or the key of a tombstone.

    Raises:
        TypeError: the object is neither.
    """
    key: str | None = getattr(obj, "key", None)
    if key is not None:
        return key
    try:
        metadata = obj["metadata"]
        return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    except (TypeError, KeyError, AttributeError):
        raise TypeError(f"the store, or a handler, has {obj!r:.100}, which is not a manifest") from None


def version_of(obj: Any) -> Version:
    """Return the version of a manifest. Other objects get a version that no object of the server has."""
    try:
        metadata = obj["metadata"]
        version = str(metadata.get("resourceVersion", ""))
        transformed = int(metadata.get("annotations", {}).get(TRANSFORMED, 0))
    except (TypeError, KeyError, AttributeError, ValueError):
        return Version(f"{obj!r:.100}", "no uid", 0)
    number = int(version) if version.isdecimal() else 0
    return Version(key_of_object(obj), str(metadata.get("uid", "no uid")), number, transformed)


def versions_of(objects: Iterable[Any]) -> dict[str, Version]:
    """Return the versions of objects, by key."""
    return {key_of_object(obj): version_of(obj) for obj in objects}


def index_value(obj: Mapping[str, Any]) -> list[str]:
    """Return the indexed values of an object: its ``spec.value``, which changes with the spec."""
    return [str(obj["spec"].get("value", ""))]


def wrong_index(store: Any, name: str, stored: Iterable[Any]) -> Iterator[str]:
    """Yield the differences between an index by :func:`index_value` and the stored objects.

    If the store has no method to query an index, nothing is yielded.
    """
    if hasattr(store, "index_keys"):
        keys_under = store.index_keys
    elif hasattr(store, "by_index"):

        def keys_under(name: str, value: str) -> list[str]:
            return [key_of_object(obj) for obj in store.by_index(name, value)]

    else:
        return
    values = store.list_index_func_values(name) if hasattr(store, "list_index_func_values") else ()
    by_value: dict[str, set[str]] = {}
    for obj in stored:
        by_value.setdefault(index_value(obj)[0], set()).add(key_of_object(obj))
    for value in sorted({*by_value, *values}):
        actual, expected = sorted(keys_under(name, value)), sorted(by_value.get(value, ()))
        if actual != expected:
            yield f"index {name}: {value!r} has {actual}; expected: {expected}"
