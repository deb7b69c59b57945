"""Where the schema of an object is in a document: JSON Schema, OpenAPI, or a CustomResourceDefinition."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from .shape import ShapeError

_MANY = 8
_FOLDERS = (("definitions",), ("components", "schemas"), ("$defs",))


@dataclass(frozen=True)
class Found:
    """A schema in its document.

    Attributes:
        schema: the schema itself.
        document: what references in it are relative to.
        title: what its objects are called.
        kind: of the objects, if the document says it.
        api_version: of the objects, if the document says it.
        is_kubernetes: whole numbers have 64 bits at most.
    """

    schema: Any
    document: Mapping[str, Any]
    title: str = ""
    kind: str | None = None
    api_version: str | None = None
    is_kubernetes: bool = False


def find_schema(document: Mapping[str, Any], name: str | None) -> Found:
    """The schema called ``name``, or the only one, or the document itself.

    Raises:
        ShapeError: there is none of that name, or a name is needed.
    """
    if document.get("kind") == "CustomResourceDefinition":
        return _in_custom_resource_definition(document, name)
    schemas = _named_schemas(document)
    is_api = "swagger" in document or "openapi" in document
    if name is None and not is_api and (not schemas or _is_schema(document)):
        return Found(document, document, str(document.get("title", "")))
    if name is None:
        if len(schemas) != 1:
            raise ShapeError(f"the document holds {len(schemas)} schemas; say which one: {_some(schemas)}")
        name = next(iter(schemas))
    return _named(document, schemas, name, is_api)


def pointed_at(document: Mapping[str, Any], reference: str) -> Any:
    """What ``#/definitions/Pod`` or the like stands for.

    Raises:
        ShapeError: it is not in this document.
    """
    if not reference.startswith("#"):
        raise ShapeError(f"the schema refers to {reference!r}, which is outside of its document; put it into it")
    found: Any = document
    for part in reference[1:].split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and key in found:
            found = found[key]
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            keys = found if isinstance(found, Mapping) else ()
            raise ShapeError(f"the schema refers to {reference!r}, which is not there{_similar(key, keys)}")
    return found


def _in_custom_resource_definition(document: Mapping[str, Any], name: str | None) -> Found:
    spec = _mapping(document.get("spec"))
    kind = _mapping(spec.get("names")).get("kind")
    listed = spec.get("versions")
    versions = {str(_mapping(one).get("name")): _mapping(one) for one in (listed if isinstance(listed, list) else ())}
    if name is None:
        stored = [key for key, one in versions.items() if one.get("storage")] or list(versions)
        name = stored[0] if stored else None
    elif name not in versions:
        raise ShapeError(f"{kind} has no version {name!r}{_similar(name, versions)}; it has {_some(versions)}")
    schema = _mapping(versions.get(name or "", {}).get("schema")).get("openAPIV3Schema")
    if schema is None:  # the old way: one for all versions
        schema = _mapping(spec.get("validation")).get("openAPIV3Schema")
    if schema is None:
        raise ShapeError(f"version {name!r} of {kind} has no schema; give samples of its objects")
    version = None if name is None else f"{spec.get('group')}/{name}"
    root = _mapping(schema)
    return Found(schema, root, str(kind or ""), None if kind is None else str(kind), version, True)


def _named_schemas(document: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for folder in _FOLDERS:
        inner: Any = document
        for part in folder:
            inner = _mapping(inner).get(part)
        found.update(_mapping(inner))
    return found


def _named(document: Mapping[str, Any], schemas: Mapping[str, Any], name: str, is_api: bool) -> Found:
    names = [name] if name in schemas else [key for key in schemas if key.endswith("." + name)]
    if not names:
        raise ShapeError(f"there is no schema {name!r}{_similar(name, schemas)}")
    if len(names) > 1:
        raise ShapeError(f"several schemas are called {name!r}: {_some(names)}")
    schema = schemas[names[0]]
    marks = _mapping(schema).get("x-kubernetes-group-version-kind")
    title = names[0].rpartition(".")[2]
    if isinstance(marks, list) and len(marks) == 1:
        mark = _mapping(marks[0])
        version = "/".join(str(mark[key]) for key in ("group", "version") if mark.get(key))
        return Found(schema, document, title, str(mark.get("kind")), version, True)
    return Found(schema, document, title, is_kubernetes=is_api)


def _is_schema(document: Mapping[str, Any]) -> bool:
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
