"""The rules for keys: the key of an object never changes, and no two objects have the same key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..objects.fuzzed_object import FuzzedObject
from ..objects.trees import NotPlainError, Tree, decode
from ..rules import Kind, Rule
from .outcome import Answer, answer_of
from .violation import Violation

IDENTITY = ("namespace", "name", "uid")
_KEEP = frozenset({*IDENTITY, "metadata", "id", "key", "$", "class", "fields", "kind", "apiVersion", "api_version"})


@dataclass(frozen=True)
class IdentityRules:
    """A check of the keys of changed objects. It applies only to objects with a recognisable name and namespace."""

    function: Callable[[Any], Any]

    def violations(self, fuzzed_object: FuzzedObject, first: Answer) -> Iterator[Violation]:
        """Yield the violations of the two rules by the object and its changed copies."""
        if not fuzzed_object.is_plain:
            return
        identity = _identity(fuzzed_object.tree)
        if identity is None:
            return
        for tree, what in _changes(fuzzed_object.tree):
            other = self._answer(tree)
            if other.meaning != first.meaning and not other.error:
                yield Violation(Rule.STABLE_KEY, f"{first.text()}, but {other.text()} {what}")
                break
        for name in ("namespace", "name"):
            if not _may_have(fuzzed_object.tree, identity, name):
                continue
            tree = _with(fuzzed_object.tree, name, f"{identity.get(name) or 'other'}-2")
            if isinstance(identity.get("uid"), str):
                tree = _with(tree, "uid", f"{identity['uid']}-2")  # no two objects have the same
            other = self._answer(tree)
            if other.values is not None and other.values == first.values:
                yield Violation(Rule.ONE_KEY_EACH, f"{first.text()} also for an object with another {name}")
                return

    def _answer(self, tree: Tree) -> Answer:
        try:
            return answer_of(self.function, Kind.KEY, decode(tree))[0]
        except NotPlainError as error:
            return Answer(None, error=str(error))  # the class rejects these fields


def _may_have(tree: Tree, identity: dict[str, Any], name: str) -> bool:
    """Whether the object has a text field ``name``, or its identity may have such a field."""
    if name in identity:
        return isinstance(identity[name], (str, type(None)))
    metadata = (_fields(tree) or {}).get("metadata")
    return isinstance(metadata, dict) and metadata.get("$") in (None, "namespace")


def is_nameless(tree: Tree) -> bool:
    """Whether the object has no name or an empty name: a key function may reject such an object."""
    identity = _identity(tree)
    return identity is not None and not identity.get("name")


def with_namespace(tree: Tree) -> Tree | None:
    """Return a copy with a namespace of an object without; ``None`` if it has a namespace, or cannot have one."""
    identity = _identity(tree)
    if identity is None or identity.get("namespace") or not _may_have(tree, identity, "namespace"):
        return None
    return _with(tree, "namespace", "default")


def _fields(tree: Tree) -> dict[str, Any] | None:
    if not isinstance(tree, dict):
        return None
    fields = tree.get("fields") if "$" in tree else tree
    return fields if isinstance(fields, dict) else None


def _identity(tree: Tree) -> dict[str, Any] | None:
    """Return the part of the tree that contains the name; ``None`` if there is none."""
    fields = _fields(tree)
    if fields is None:
        return None
    metadata = _fields(fields.get("metadata"))
    part = metadata if metadata is not None else fields
    return part if "name" in part or metadata is not None else None


def _with(tree: Tree, name: str, value: Any) -> Tree:
    """Return a copy of the tree in which the field ``name`` of the identity is ``value``."""
    fields = _fields(tree)
    assert fields is not None
    copy = dict(fields)
    metadata = _fields(fields.get("metadata"))
    if metadata is None:
        copy[name] = value
    else:
        copy["metadata"] = _rewrapped(fields["metadata"], {**metadata, name: value})
    return _rewrapped(tree, copy)


def _rewrapped(tree: Tree, fields: dict[str, Any]) -> Tree:
    return {**tree, "fields": fields} if "$" in tree else fields


def _changes(tree: Tree) -> Iterator[tuple[Tree, str]]:
    """Yield later states of the same object (other labels, version, spec), each with a text about the change."""
    identity = _identity(tree) or {}
    for name, value in identity.items():
        if name in _KEEP:
            continue
        for other in _others(name, value):
            yield _with(tree, name, other), f"when its {name} is {other!r}"
    fields = _fields(tree) or {}
    if identity is not fields:
        for name, value in fields.items():
            if name not in _KEEP and isinstance(value, (str, int)):
                for other in _others(name, value):
                    yield _rewrapped(tree, {**fields, name: other}), f"when its {name} is {other!r}"


def _others(name: str, value: Any) -> Iterator[Any]:
    if isinstance(value, str):
        yield f"{int(value) + 1}" if value.isascii() and value.isdigit() else f"{value}x"
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, dict) and "$" not in value and name in ("labels", "annotations"):
        yield {**value, "changed": "yes"}
        yield {}
        yield {key: f"{part}x" for key, part in value.items()}
