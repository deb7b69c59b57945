"""The objects of the recordings, and the key and index functions that the recordings name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import kcache

Json = Any
"""A parsed JSON value."""


@dataclass(eq=False)
class RecordedObject:
    """An object literal of a recording: metadata and a few spec fields."""

    uid: str
    metadata: SimpleNamespace
    spec: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"Obj({self.uid})"

    def change(self, fields: Mapping[str, Json]) -> None:
        """Set fields in place: labels as a whole, spec field by field."""
        for name, value in fields.items():
            if name == "spec":
                self.spec.update(value)
            elif name == "labels":
                self.metadata.labels = dict(value)
            else:
                setattr(self.metadata, {"resourceVersion": "resource_version"}.get(name, name), value)


def read_object(literal: Json, variables: Mapping[str, object]) -> object:
    """Return the object that a literal describes: a new object each time, except for ``{"$var": name}``."""
    if literal is None:
        return None
    match literal:
        case {"$string": text}:
            return text
        case {"$int": number}:
            return number
        case {"$explicitKey": key}:
            return kcache.ExplicitKey(key)
        case {"$tombstone": tombstone}:
            return kcache.DeletedFinalStateUnknown(tombstone["key"], read_object(tombstone["obj"], variables))
        case {"$var": name}:
            return variables[name]
    metadata = SimpleNamespace(
        name=literal.get("name", ""),
        namespace=literal.get("namespace", ""),
        labels=dict(literal.get("labels") or {}),
        resource_version=literal.get("resourceVersion", ""),
    )
    return RecordedObject(literal["uid"], metadata, dict(literal.get("spec") or {}))


def reference_of(literal: Json, variables: Mapping[str, object]) -> str:
    """The name of the object of a literal in results: its uid, or the literal itself as compact JSON."""
    if isinstance(literal, dict):
        if "$var" in literal:
            known = variables[literal["$var"]]
            return known.uid if isinstance(known, RecordedObject) else str(known)
        if "uid" in literal:
            return str(literal["uid"])
    return reference_text(literal)


def reference_text(reference: Json) -> str:
    """Text of a reference in a result."""
    return reference if isinstance(reference, str) else json.dumps(reference, separators=(",", ":"), sort_keys=True)


class RecordedFunctionError(Exception):
    """The error that the named functions raise if the recorded Go functions return an error."""


def _require(obj: object, message: str) -> RecordedObject:
    if not isinstance(obj, RecordedObject):
        raise RecordedFunctionError(message)
    return obj


def _label_values(obj: object) -> list[str]:
    return kcache.label_index_func(obj) if _has_metadata(obj) else []


def _name_key(obj: object) -> str:
    if not _has_metadata(obj):
        raise RecordedFunctionError("no name")
    return kcache.accessor(obj).name


def _group(obj: object) -> list[str]:
    recorded = _require(obj, "not an Obj")
    if recorded.spec.get("panic"):
        raise RecordedFunctionError("index function exploded")
    if recorded.spec.get("fail"):
        raise RecordedFunctionError(f"group of {recorded.metadata.name} is unknown")
    return [recorded.spec.get("group", "")]


def _failing_key(obj: object) -> str:
    if isinstance(obj, RecordedObject) and obj.spec.get("failKey"):
        raise RecordedFunctionError(f"no key for {obj.metadata.name}")
    return kcache.meta_namespace_key_func(obj)


def _access_modes(obj: object) -> list[str]:
    return [",".join(_require(obj, "object is not a persistent volume").spec.get("accessModes") or [])]


def _node_name(obj: object) -> list[str]:
    name = obj.spec.get("nodeName", "") if isinstance(obj, RecordedObject) else ""
    return [name] if name else []


def _has_metadata(obj: object) -> bool:
    try:
        kcache.accessor(obj)
    except kcache.NoMetadataError:
        return False
    return True


KEY_FUNCS: Mapping[str, Callable[[Any], str]] = {
    "meta": kcache.meta_namespace_key_func,
    "deletion": kcache.deletion_handling_meta_namespace_key_func,
    "name": _name_key,
    "constant": lambda _: "k",
    "failing": _failing_key,
}

_INDEX_FUNCS: Mapping[str, Callable[[Any], list[str] | None]] = {
    "namespace": kcache.meta_namespace_index_func,
    "labels": _label_values,
    "name": lambda obj: [_name_key(obj)],
    "nodeName": _node_name,
    "nodeNameAlways": lambda obj: [obj.spec.get("nodeName", "")] if isinstance(obj, RecordedObject) else [],
    "accessModes": _access_modes,
    "tags": lambda obj: list(obj.spec.get("tags") or []) if isinstance(obj, RecordedObject) else None,
    "dup": lambda obj: [kcache.accessor(obj).name] * 3 if _has_metadata(obj) else None,
    "empty": lambda _: [],
    "nil": lambda _: None,
    "emptyString": lambda _: [""],
    "group": _group,
}


def index_func(name: str) -> Callable[[Any], list[str] | None]:
    """The index function that a recording calls ``name``."""
    if name.startswith("label:"):
        label = name.removeprefix("label:")

        def value_of_label(obj: object) -> list[str] | None:
            if not _has_metadata(obj):
                return None
            labels = kcache.accessor(obj).labels
            return [labels[label]] if label in labels else []

        return value_of_label
    return _INDEX_FUNCS[name]
