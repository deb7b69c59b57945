"""The place of a JSON schema in its document: JSON Schema, OpenAPI, or a CustomResourceDefinition."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from .schema import SchemaError

_MANY = 8
_FOLDERS = (("definitions",), ("components", "schemas"), ("$defs",))


@dataclass(frozen=True)
class Found:
    """A JSON schema in its document.

    Attributes:
        json_schema: the JSON schema itself.
        document: the document in which its references are resolved.
        title: the name of its objects.
        kind: the kind of the objects, if the document contains it.
        api_version: the API version of the objects, if the document contains it.
        is_kubernetes: whether it is a schema of Kubernetes, where integers have at most 64 bits.
    """

    json_schema: Any
    document: Mapping[str, Any]
    title: str = ""
    kind: str | None = None
    api_version: str | None = None
    is_kubernetes: bool = False


def find_json_schema(document: Mapping[str, Any], name: str | None) -> Found:
    """Return the JSON schema called ``name``, or the only one, or the document itself.

    Raises:
        SchemaError: no schema has that name, or a name is needed.
    """
    if document.get("kind") == "CustomResourceDefinition":
        return _in_custom_resource_definition(document, name)
    json_schemas = _named_json_schemas(document)
    is_api = "swagger" in document or "openapi" in document
    if name is None and not is_api and (not json_schemas or _is_json_schema(document)):
        return Found(document, document, str(document.get("title", "")))
    if name is None:
        if len(json_schemas) != 1:
            raise SchemaError(f"the document contains {len(json_schemas)} schemas; choose one: {_some(json_schemas)}")
        name = next(iter(json_schemas))
    return _named(document, json_schemas, name, is_api)


def pointed_at(document: Mapping[str, Any], reference: str) -> Any:
    """Resolve a reference such as ``#/definitions/Pod``.

    Raises:
        SchemaError: the reference leads out of this document, or to nothing.
    """
    if not reference.startswith("#"):
        raise SchemaError(
            f"the schema refers to {reference!r}, which is outside its document; copy it into the document"
        )
    target: Any = document
    for part in reference[1:].split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(target, Mapping) and key in target:
            target = target[key]
        elif isinstance(target, list) and key.isdecimal() and int(key) < len(target):
            target = target[int(key)]
        else:
            keys = target if isinstance(target, Mapping) else ()
            raise SchemaError(f"the schema refers to {reference!r}, which does not exist{_similar(key, keys)}")
    return target


def _in_custom_resource_definition(document: Mapping[str, Any], name: str | None) -> Found:
    spec = _mapping(document.get("spec"))
    kind = _mapping(spec.get("names")).get("kind")
    listed = spec.get("versions")
    versions = {str(_mapping(one).get("name")): _mapping(one) for one in (listed if isinstance(listed, list) else ())}
    if name is None:
        stored = [key for key, one in versions.items() if one.get("storage")] or list(versions)
        name = stored[0] if stored else None
    elif name not in versions:
        raise SchemaError(f"{kind} has no version {name!r}{_similar(name, versions)}; it has {_some(versions)}")
    json_schema = _mapping(versions.get(name or "", {}).get("schema")).get("openAPIV3Schema")
    if json_schema is None:  # the old way: one for all versions
        json_schema = _mapping(spec.get("validation")).get("openAPIV3Schema")
    if json_schema is None:
        raise SchemaError(f"version {name!r} of {kind} has no schema; give samples of its objects")
    version = None if name is None else f"{spec.get('group')}/{name}"
    root = _mapping(json_schema)
    return Found(json_schema, root, str(kind or ""), None if kind is None else str(kind), version, True)


def _named_json_schemas(document: Mapping[str, Any]) -> dict[str, Any]:
    schemas: dict[str, Any] = {}
    for folder in _FOLDERS:
        inner: Any = document
        for part in folder:
            inner = _mapping(inner).get(part)
        schemas.update(_mapping(inner))
    return schemas


def _named(document: Mapping[str, Any], json_schemas: Mapping[str, Any], name: str, is_api: bool) -> Found:
    names = [name] if name in json_schemas else [key for key in json_schemas if key.endswith("." + name)]
    if not names:
        raise SchemaError(f"there is no schema {name!r}{_similar(name, json_schemas)}")
    if len(names) > 1:
        raise SchemaError(f"several schemas are called {name!r}: {_some(names)}")
    json_schema = json_schemas[names[0]]
    marks = _mapping(json_schema).get("x-kubernetes-group-version-kind")
    title = names[0].rpartition(".")[2]
    if isinstance(marks, list) and len(marks) == 1:
        mark = _mapping(marks[0])
        version = "/".join(str(mark[key]) for key in ("group", "version") if mark.get(key))
        return Found(json_schema, document, title, str(mark.get("kind")), version, True)
    return Found(json_schema, document, title, is_kubernetes=is_api)


def _is_json_schema(document: Mapping[str, Any]) -> bool:
    return any(key in document for key in ("type", "properties", "$ref", "allOf", "anyOf", "oneOf", "enum", "items"))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _similar(name: str, names: Iterable[str]) -> str:
    known = list(names)
    short = {one.rpartition(".")[2].lower(): one for one in known}
    close = difflib.get_close_matches(name, known, 3) or [
        short[one] for one in difflib.get_close_matches(name.rpartition(".")[2].lower(), short, 3)
    ]
    return f"; did you mean {' or '.join(close)}?" if close else ""


def _some(names: Iterable[str]) -> str:
    known = list(names)
    more = f" and {len(known) - _MANY} more" if len(known) > _MANY else ""
    return ", ".join(known[:_MANY]) + more
