"""Objects as plain data: for other processes, for replay tokens, and for equal copies.

A tree is JSON. Scalars, lists, and dicts with text keys represent themselves; everything else is a dict with the key
``$``, whose value is the kind of the object.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import math
import sys
from collections.abc import Iterator
from datetime import datetime
from types import SimpleNamespace
from typing import Any, TypeAlias

from ..schemas.declared import alias_of
from ..schemas.standard_types import MAKINGS, standard_class, standard_name

Tree: TypeAlias = Any
"""Plain JSON."""
Path: TypeAlias = tuple[str | int, ...]
"""The path of a part in a tree."""

_MARK = "$"
_DEEPEST = 60
_IMPORTED = frozenset({"kubernetes", "kubernetes_asyncio", "kcache"})
"""Packages that may be imported to look up a class; all others must have been loaded with the function."""
_SYNONYMS = {"kcache_conformance.fuzzing.shapes.fixed_tuples": "kcache_conformance.fuzzing.schemas.fixed_tuples"}
"""Module name in replay tokens of earlier versions -> module that has its classes now."""


class NotPlainError(TypeError):
    """An object has parts that cannot be represented as plain data."""


def encode(obj: Any, depth: int = 0) -> Tree:
    """Convert ``obj`` into a tree; O(size).

    Raises:
        NotPlainError: ``obj`` contains a function, a cycle, or another object without fields.
    """
    if obj is None or type(obj) in (bool, int, str):
        return obj
    if depth > _DEEPEST:
        raise NotPlainError("it refers to itself, or is nested very deeply")
    below = depth + 1
    kind = type(obj)
    if kind is list:
        return [encode(item, below) for item in obj]
    if kind is dict:
        if all(type(key) is str for key in obj) and _MARK not in obj:
            return {key: encode(value, below) for key, value in obj.items()}
        return {_MARK: "dict", "items": [[encode(key, below), encode(value, below)] for key, value in obj.items()]}
    if kind is float:
        return obj if math.isfinite(obj) else {_MARK: "float", "text": repr(obj)}
    if kind in (tuple, set, frozenset):
        items = [encode(item, below) for item in obj]
        return {_MARK: kind.__name__, "items": items if kind is tuple else sorted(items, key=repr)}
    if kind in (bytes, bytearray):
        return {_MARK: kind.__name__, "hex": obj.hex()}
    if kind is datetime:
        return {_MARK: "datetime", "text": obj.isoformat()}
    if isinstance(obj, enum.Enum):
        if obj.name not in kind.__members__:
            raise NotPlainError(f"{obj!r} has no name of its own")
        return {_MARK: "enum", "class": class_name(kind), "name": obj.name}
    standard = standard_name(kind)
    if standard is not None:
        arguments = MAKINGS[standard_class(standard)].arguments(obj)
        return {_MARK: "standard", "class": standard, "arguments": [encode(one, below) for one in arguments]}
    fields = fields_of(obj)
    if kind is SimpleNamespace:
        return {_MARK: "namespace", "fields": {name: encode(value, below) for name, value in fields.items()}}
    tree = {
        _MARK: "object",
        "class": class_name(kind),
        "fields": {name: encode(value, below) for name, value in fields.items()},
    }
    late = (
        [field.name for field in dataclasses.fields(kind) if not field.init] if dataclasses.is_dataclass(kind) else []
    )
    return {**tree, "late": late} if late else tree


def decode(tree: Tree) -> Any:
    """Return a new object, equal to the object that was converted into ``tree``.

    Raises:
        NotPlainError: a class no longer exists, or rejects its fields; or the tree is damaged.
    """
    try:
        return _decoded(tree)
    except NotPlainError:
        raise
    except Exception as error:
        raise NotPlainError(f"it cannot be recreated: {type(error).__name__}: {error}") from error


def _decoded(tree: Tree) -> Any:
    if isinstance(tree, list):
        return [_decoded(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    match tree.get(_MARK):
        case None:
            return {key: _decoded(value) for key, value in tree.items()}
        case "dict":
            return {_decoded(key): _decoded(value) for key, value in tree["items"]}
        case "tuple" | "set" | "frozenset" as name:
            container = {"tuple": tuple, "set": set, "frozenset": frozenset}[name]
            return container(_decoded(item) for item in tree["items"])
        case "float":
            return float(tree["text"])
        case "bytes":
            return bytes.fromhex(tree["hex"])
        case "bytearray":
            return bytearray.fromhex(tree["hex"])
        case "datetime":
            return datetime.fromisoformat(tree["text"])
        case "enum":
            kind = class_named(tree["class"])
            if issubclass(kind, enum.Enum):
                return kind[tree["name"]]
            raise NotPlainError(f"{tree['class']} is not an enum")
        case "standard":
            return standard_class(tree["class"])(*map(_decoded, tree["arguments"]))
        case "namespace":
            return SimpleNamespace(**{name: _decoded(value) for name, value in tree["fields"].items()})
        case "object":
            fields = {name: _decoded(value) for name, value in tree["fields"].items()}
            return new_instance(class_named(tree["class"]), fields)
    raise NotPlainError(f"unknown part {tree[_MARK]!r}")


def fields_of(obj: Any) -> dict[str, Any]:
    """Return the fields of an instance, by the names that its class declares.

    Raises:
        NotPlainError: the object has no fields.
    """
    kind = type(obj)
    if dataclasses.is_dataclass(kind):
        return {field.name: getattr(obj, field.name) for field in dataclasses.fields(kind)}
    if isinstance(obj, tuple) and hasattr(kind, "_fields"):
        return {name: getattr(obj, name) for name in kind._fields}
    for declared in ("model_fields", "openapi_types"):
        names = getattr(kind, declared, None)
        if isinstance(names, dict):
            return {name: getattr(obj, name) for name in names}
    attributes = getattr(kind, "__attrs_attrs__", None)
    if attributes is not None:
        return {attribute.name: getattr(obj, attribute.name) for attribute in attributes}
    if kind.__module__ == "builtins" or callable(obj) or not hasattr(obj, "__dict__"):
        raise NotPlainError(f"it holds a {kind.__qualname__}")
    if any(getattr(base, "__slots__", ()) for base in kind.__mro__):
        raise NotPlainError(f"it holds a {kind.__qualname__}, which keeps some fields in slots")
    return dict(vars(obj))


def new_instance(kind: type[Any], fields: dict[str, Any]) -> Any:
    """Return an instance with these fields. Only classes with declared fields are called; others are filled in.

    So a replay token from another person cannot make this process call arbitrary code.

    Raises:
        NotPlainError: the class rejects the fields.
    """
    try:
        if dataclasses.is_dataclass(kind):
            return _dataclass(kind, fields)
        if hasattr(kind, "model_fields"):
            return _model(kind, fields)
        if any(hasattr(kind, mark) for mark in ("_fields", "openapi_types")):
            return kind(**fields)
        if hasattr(kind, "__del__"):
            raise TypeError("its __del__ would be called")
        instance = object.__new__(kind)
        for name, value in fields.items():
            object.__setattr__(instance, name, value)
        return instance
    except Exception as error:
        raise NotPlainError(f"{getattr(kind, '__qualname__', kind)} refuses its fields: {error}") from error


def _dataclass(kind: Any, fields: dict[str, Any]) -> Any:
    declared = {field.name: field for field in dataclasses.fields(kind)}
    instance = kind(**{name: value for name, value in fields.items() if name in declared and declared[name].init})
    for name, value in fields.items():
        if name not in declared or not declared[name].init:
            object.__setattr__(instance, name, value)
    return instance


def _model(kind: Any, fields: dict[str, Any]) -> Any:
    """Create a pydantic model: by field names if its configuration allows it (as the client's do), else by aliases."""
    config = getattr(kind, "model_config", None) or {}
    if config.get("populate_by_name") or config.get("validate_by_name"):
        return kind(**fields)
    return kind(**{alias_of(name, kind.model_fields[name]): value for name, value in fields.items()})


def class_name(kind: type) -> str:
    """Return the name by which another process can load the class: ``module:qualified name``.

    Raises:
        NotPlainError: the class is local to a function.
    """
    if "<" in kind.__qualname__:
        raise NotPlainError(f"its class {kind.__qualname__} is local to a function")
    return f"{kind.__module__}:{kind.__qualname__}"


def class_named(name: str) -> Any:
    """Return the class with the name ``module:qualified name``.

    Raises:
        NotPlainError: the class does not exist, or its module is not loaded.
    """
    module, _, qualname = name.partition(":")
    module = _SYNONYMS.get(module, module)
    try:
        value: Any = sys.modules.get(module)
        if value is None and module.partition(".")[0] in _IMPORTED and not module.endswith("__main__"):
            value = importlib.import_module(module)
        if value is None:
            raise NotPlainError(f"the module {module} of its class is not loaded")
        for part in qualname.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise NotPlainError(f"there is no class {name}: {error}") from error
    if not isinstance(value, type):
        raise NotPlainError(f"{name} is not a class")
    return value


def paths_in(tree: Tree, above: Path = ()) -> Iterator[Path]:
    """Yield the paths of the parts of a tree that may be replaced: items, entries and fields, outer parts first."""
    if isinstance(tree, list):
        items: Any = enumerate(tree)
    elif isinstance(tree, dict):
        if "$" in tree:
            if "fields" in tree:
                yield from paths_in(tree["fields"], (*above, "fields"))
            return
        items = tree.items()
    else:
        return
    for key, value in items:
        yield (*above, key)
        yield from paths_in(value, (*above, key))


def with_part(tree: Tree, path: Path, value: Any, *, is_removed: bool = False) -> Tree:
    """Return a copy of the tree with ``value`` at ``path``; if ``is_removed``, without this entry of a dict."""
    head, *rest = path
    copy = list(tree) if isinstance(tree, list) else dict(tree)
    if rest:
        copy[head] = with_part(tree[head], tuple(rest), value, is_removed=is_removed)  # type: ignore[index]
    elif is_removed and isinstance(copy, dict):
        del copy[head]
    else:
        copy[head] = value  # type: ignore[index]
    return copy
