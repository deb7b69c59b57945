"""Compares what is there. Never instrumented: looking at objects that do not change is no step of a thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def key_of_object(obj: Any) -> str:
    """``namespace/name`` of a manifest, or the key of a tombstone."""
    key: str | None = getattr(obj, "key", None)
    if key is not None:
        return key
    try:
        metadata = obj["metadata"]
        return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    except (TypeError, KeyError, AttributeError):
        raise TypeError(f"the store, or a handler, has {obj!r:.100}, which is no manifest") from None


def same_versions(shown: Mapping[str, Any], content: Mapping[str, Any]) -> bool:
    """Whether two contents have the same keys, in the same versions."""
    return shown.keys() == content.keys() and all(_version(shown[key]) == _version(content[key]) for key in content)


def known_objects(noted: Sequence[Any]) -> dict[str, Any]:
    """What a handler takes to be there after these calls."""
    known: dict[str, Any] = {}
    for call in noted:
        if call.kind == "delete":
            known.pop(key_of_object(call.obj), None)
        else:
            known[key_of_object(call.obj)] = call.obj
    return known


def index_value(obj: Mapping[str, Any]) -> list[str]:
    """An index function: what changes with the spec."""
    return [str(obj["spec"].get("value", ""))]


def wrong_index(store: Any, name: str, stored: Mapping[str, Any]) -> Iterator[str]:
    """What an index by :func:`index_value` does not show of what is stored, as far as the store can be asked."""
    if hasattr(store, "index_keys"):
        keys_under = store.index_keys
    elif hasattr(store, "by_index"):

        def keys_under(name: str, value: str) -> list[str]:
            return [key_of_object(obj) for obj in store.by_index(name, value)]

    else:
        return
    values = store.list_index_func_values(name) if hasattr(store, "list_index_func_values") else ()
    by_value: dict[str, list[str]] = {}
    for key, obj in stored.items():
        by_value.setdefault(index_value(obj)[0], []).append(key)
    for value in sorted({*by_value, *values}):
        found, expected = sorted(keys_under(name, value)), sorted(by_value.get(value, []))
        if found != expected:
            yield f"index {name}: under {value!r} there is {found}, it should be {expected}"


def _version(obj: Any) -> tuple[str, str]:
    metadata = obj["metadata"]
    return metadata.get("uid", ""), metadata.get("resourceVersion", "")
