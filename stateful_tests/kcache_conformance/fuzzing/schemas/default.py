"""Default objects, if the user specifies none: Kubernetes objects with the fields that the function reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from ..static_analysis import Reading
from ..tracing.probe import Node
from .kubernetes import AS_DICT, DYNAMIC, MANIFEST, MODEL, Manner, camel_case, kinds, snake_case
from .schema import Array, Either, Field, Integer, Map, Record, Schema, SchemaError, Text, resolved
from .typical import typical

_METHODS = frozenset(name for kind in (dict, list, str, int, datetime) for name in dir(kind))
"""The methods of the plain values in any object."""

_COMMON = frozenset({"metadata", "spec", "status", "kind", "apiVersion", "api_version"})


def default_schema(reading: Reading, accesses: Node, function: Callable[[Any], Any] | None = None) -> Schema:
    """Return a schema of Kubernetes objects in the style in which the function reads them, with the fields it reads.

    Args:
        reading: the facts of the code.
        accesses: the accesses of the function to a probe, which supports every access.
        function: is called with a typical object of each likely kind; kinds for which it raises are excluded.
    """
    called = next(_called(accesses), None)
    if called is not None:
        raise SchemaError(f"it calls the method {called} of its argument; specify the objects with --object-type")
    schemas = tuple(_in_manner(manner, reading, accesses, function) for manner in _manners(reading, accesses))
    return schemas[0] if len(schemas) == 1 else Either(schemas)


def _manners(reading: Reading, accesses: Node) -> tuple[Manner, ...]:
    names = set(_names(accesses)) or set(reading.names)
    is_camel = any(name != snake_case(name) for name in names if _is_known(name))
    is_snake = any(name != camel_case(name) for name in names if _is_known(name))
    items = AS_DICT if is_snake and not is_camel else MANIFEST
    attributes = DYNAMIC if is_camel and not is_snake else MODEL
    by_attribute, by_item = _styles(reading, accesses)
    if by_attribute == by_item:
        return (attributes, items) if by_item else (attributes,)
    if by_attribute and accesses.takes_manifests and reading.names & {"Mapping", "dict"}:
        return attributes, items
    return (attributes,) if by_attribute else (items,)


def _styles(reading: Reading, accesses: Node) -> tuple[bool, bool]:
    """Return whether fields are read as attributes, and as items; without accesses, the names in the code decide."""
    if accesses.by_attribute or accesses.by_item:
        return accesses.by_attribute, accesses.by_item
    return bool(reading.attributes & _COMMON), bool(_COMMON.intersection(reading.texts))


def _is_known(name: str) -> bool:
    return name in _KNOWN_NAMES


def _in_manner(manner: Manner, reading: Reading, accesses: Node, function: Callable[[Any], Any] | None) -> Schema:
    scores = {kind.name: _score(kind, reading, accesses) for kind in kinds(manner)}
    likely = sorted(kinds(manner), key=lambda kind: scores[kind.name], reverse=True)  # stable: simple kinds first
    # Fields of the same name can differ between kinds: the selector of a Service and of a Deployment.
    rivals = [kind for kind in likely if scores[kind.name][0] == scores[likely[0].name][0]]
    chosen = next((kind for kind in rivals if function is not None and _takes(function, kind)), likely[0])
    if not _asks_beyond(accesses, chosen):
        return chosen
    guess = _extended(_custom(manner, chosen, accesses), accesses, manner)
    if function is not None and not _takes(function, guess):
        raise SchemaError(
            "its objects cannot be guessed: it reads fields that no known kind has, and it raises for a guessed "
            "object; specify the objects with --object-type, --schema, --samples or --strategy"
        )
    return guess


def _takes(function: Callable[[Any], Any], kind: Record) -> bool:
    try:
        function(typical(kind))
    except BaseException:
        return False
    return True


def _score(kind: Record, reading: Reading, accesses: Node) -> tuple[int, int]:
    """Return a score: the accessed parts that the kind has, then its field names that occur in the code."""
    matches = sum(_matches(kind, accesses))
    own = {name for name in _field_names(kind, frozenset()) if name not in _COMMON}
    return matches, len(own & reading.names) - len(kind.fields) // 10


def _matches(schema: Schema, accesses: Node) -> Iterator[int]:
    """Yield 1 for each accessed part that the schema has, -1 if the part was used as another type."""
    schema = resolved(schema)
    if isinstance(schema, Array) and accesses.element is not None:
        yield from _matches(schema.item, accesses.element)
    if isinstance(schema, Record):
        for field in schema.fields:
            node = accesses.children.get(field.name)
            if node is not None:
                yield 1 if _is_used_as(resolved(field.schema), node) else -1
                yield from _matches(field.schema, node)


def _is_used_as(schema: Schema, node: Node) -> bool:
    if isinstance(schema, Record):
        return not (node.is_map or node.element is not None or node.is_text or node.is_number)
    if isinstance(schema, (Array, Map)):
        return not (node.is_text or node.is_number)
    return not (node.is_map or node.children)


def _asks_beyond(accesses: Node, schema: Schema) -> bool:
    schema = resolved(schema)
    if isinstance(schema, Array):
        return accesses.element is not None and _asks_beyond(accesses.element, schema.item)
    if not isinstance(schema, Record):
        return False
    known = {field.name: field for field in schema.fields}
    return any(
        name not in known or _asks_beyond(node, known[name].schema)
        for name, node in accesses.children.items()
        if not (name.startswith("_") or node.is_called)
    )


def _custom(manner: Manner, like: Record, accesses: Node) -> Record:
    """Return a record with the accessed parts of a known kind."""
    fields = tuple(field for field in like.fields if field.name in accesses.children)
    if fields and all(field.name != "metadata" for field in fields):
        fields += tuple(field for field in like.fields if field.name == "metadata")
    return Record(fields, manner.style, name="object")


def _extended(record: Record, accesses: Node, manner: Manner) -> Record:
    """Return ``record`` with the accessed unknown fields. They are required: nothing declares them optional."""
    fields = []
    for field in record.fields:
        node, schema = accesses.children.get(field.name), resolved(field.schema)
        if node is not None and isinstance(schema, Record):
            field = replace(field, schema=_extended(schema, node, manner))
        fields.append(field)
    known = {field.name for field in record.fields}
    for name, node in accesses.children.items():
        if name not in known and not (name.startswith("_") or node.is_called):
            is_part = name in ("spec", "status")
            fields.append(Field(name, _inferred(node, manner), is_part, is_part))
    return replace(record, fields=tuple(fields))


def _inferred(node: Node, manner: Manner) -> Schema:
    if node.children:
        return _extended(Record((), manner.style), node, manner)
    if node.is_map:
        return Map(Text(), Text())
    if node.element is not None:
        return Array(_inferred(node.element, manner))
    if node.is_number and not node.is_text:
        return Integer()
    if node.is_text:
        return Text()
    return Text()


def _called(node: Node, name: str = "") -> Iterator[str]:
    """Yield the names of the parts that were called as methods."""
    if node.is_called and name not in _METHODS:
        yield name
    for child_name, child in node.children.items():
        yield from _called(child, child_name)
    if node.element is not None:
        yield from _called(node.element, name)


def _names(node: Node) -> Iterator[str]:
    for name, child in node.children.items():
        yield name
        yield from _names(child)
    if node.element is not None:
        yield from _names(node.element)


def _field_names(schema: Schema, above: frozenset[int]) -> Iterator[str]:
    schema = resolved(schema)
    if id(schema) in above:
        return
    if isinstance(schema, Array):
        yield from _field_names(schema.item, above | {id(schema)})
    elif isinstance(schema, Record):
        for field in schema.fields:
            yield field.name
            if field.name != "template":
                yield from _field_names(field.schema, above | {id(schema)})


_KNOWN_NAMES = frozenset(
    name for manner in (MODEL, MANIFEST) for kind in kinds(manner) for name in _field_names(kind, frozenset())
)
