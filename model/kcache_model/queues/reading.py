"""Conversion between the versions of a program and Python objects: arguments for a queue, and its deltas as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kcache.keys import DeletedFinalStateUnknown

from .operations import Thing, Tombstone

Change = tuple[str, str | None, Any]
"""The type, the key, and the object of a change; for ``ReplacedAll``, all objects by key."""


def make_object(thing: Thing) -> Any:
    """Create the object ``{"key": ..., "version": ...}`` of a version, or a tombstone with such an object."""
    if isinstance(thing, Tombstone):
        return DeletedFinalStateUnknown(thing.key, None if thing.obj is None else make_object(thing.obj))
    obj: dict[str, Any] = {} if thing.key is None else {"key": thing.key}
    obj["version"] = thing.stamp
    if thing.transformed:
        obj["transformed"] = thing.transformed
    if thing.is_rejected:
        obj["rejected"] = True
    return obj


def key_func(obj: Any) -> str:
    """Return the key of an object: the key function of the queues under test."""
    key: str = obj["key"]
    return key


class RejectedError(ValueError):
    """The exception of the transformer for objects that it rejects."""


def transformer(obj: Any) -> Any:
    """Return a copy of an object with its counter of transformations increased: the transformer of the queues.

    Raises:
        RejectedError: the object is marked as rejected.
    """
    if obj.get("rejected"):
        raise RejectedError("rejected by the transformer")
    return {**obj, "transformed": obj.get("transformed", 0) + 1}


def object_text(obj: object) -> str:
    """The text of an object: ``str`` of its :class:`~.operations.Version` or :class:`~.operations.Tombstone`."""
    if obj is None:
        return "None"
    if isinstance(obj, Mapping):
        return str(obj.get("version", "?")) + "'" * int(obj.get("transformed", 0))
    if hasattr(obj, "key") and hasattr(obj, "obj"):
        return f"tombstone({getattr(obj, 'key')}, {object_text(getattr(obj, 'obj'))})"  # noqa: B009
    return f"a {type(obj).__name__}"


def read_deltas(item: Any, *, has_types: bool) -> Iterator[tuple[str, Change]]:
    """Read the changes of an item that was handed out: each as text, and as the change that the consumer stores.

    Raises:
        MalformedError: the item is not a sequence of deltas.
    """
    if not has_types:
        yield object_text(item), ("", _key(item), item)
        return
    try:
        deltas = list(item)
    except TypeError:
        raise MalformedError(f"expected a sequence of deltas, not a {type(item).__name__}") from None
    for delta in deltas:
        yield _read(delta)


class MalformedError(Exception):
    """The item that was handed out violates the contract of the queue."""


def _read(delta: Any) -> tuple[str, Change]:
    try:
        kind, obj = delta.type, delta.object
    except AttributeError:
        raise MalformedError(f"a delta is a {type(delta).__name__} without type and object") from None
    kind = str(getattr(kind, "value", kind))
    if kind == "ReplacedAll":
        objects = list(obj.objects)
        listed = f"[{', '.join(map(object_text, objects))}]"
        by_key = {key: one for one in objects if (key := _key(one)) is not None}
        return f"{kind} {listed} at {obj.resource_version!r}", (kind, None, by_key)
    if kind == "SyncAll":
        return kind, (kind, None, None)
    if kind == "Bookmark":
        return f"{kind} {obj.resource_version}", (kind, None, None)
    return f"{kind} {object_text(obj)}", (kind, _key(obj), obj)


def _key(obj: object) -> str | None:
    key = obj.get("key") if isinstance(obj, Mapping) else getattr(obj, "key", None)
    return key if isinstance(key, str) else None
