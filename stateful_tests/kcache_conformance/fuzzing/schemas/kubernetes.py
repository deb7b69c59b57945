"""The schemas of the Kubernetes objects that index functions usually read, as manifests or with attributes.

They contain only fields that are usual in indices; for others, the user specifies a type, a schema or samples. The
formats are those that the API server enforces, so that no finding is about an object that cannot exist.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import yaml

from .schema import Array, Boolean, Choice, Field, Format, Integer, Map, Moment, Record, Schema, Style, Text

_KEY = Text(Format.LABEL_KEY)
_RESOURCES = ("cpu", "memory", "storage", "ephemeral-storage", "nvidia.com/gpu")
INT64 = Integer(-(2**63), 2**63 - 1)
QUANTITIES = Map(replace(_KEY, examples=_RESOURCES), Text(Format.QUANTITY))
LABELS = Map(_KEY, Text(Format.LABEL_VALUE, most=63))
ANNOTATIONS = Map(_KEY, Text())

_SCALARS: dict[str, Schema] = {
    "text": Text(),
    "name": Text(Format.NAME, most=253),
    "label": Text(Format.LABEL, most=63),
    "labelKey": _KEY,
    "labelValue": LABELS.value,
    "digits": Text(Format.DIGITS),
    "boolean": Boolean(),
    "int32": Integer(-(2**31), 2**31 - 1),
    "count": Integer(0, 2**31 - 1),
    "port": Integer(1, 65535),
    "int63": Integer(0, 2**63 - 1),
    "labels": LABELS,
    "annotations": ANNOTATIONS,
    "quantities": QUANTITIES,
}
_MAPS: dict[str, Map] = {
    **dict.fromkeys(("labels", "matchLabels", "nodeSelector", "match_labels", "node_selector"), LABELS),
    "annotations": ANNOTATIONS,
    **dict.fromkeys(("requests", "limits", "capacity", "allocatable", "hard", "used", "overhead"), QUANTITIES),
}


@dataclass(frozen=True)
class Manner:
    """The style of an object and of its field names.

    Attributes:
        style: items or attributes.
        is_camel: ``nodeName``, as in manifests, or ``node_name``, as in the official client's models.
    """

    style: Style
    is_camel: bool


MANIFEST = Manner(Style.ITEMS, is_camel=True)
MODEL = Manner(Style.ATTRIBUTES, is_camel=False)
DYNAMIC = Manner(Style.ATTRIBUTES, is_camel=True)
"""Attributes in camel case: the client's ``ResourceInstance``."""
AS_DICT = Manner(Style.ITEMS, is_camel=False)
"""Items in snake case: the result of a model's ``to_dict``."""


def snake_case(name: str) -> str:
    """Convert ``nodeName`` into ``node_name``, ``hostIP`` into ``host_ip``, ``podIPs`` into ``pod_ips``."""
    plurals = re.sub(r"(IP|CIDR)s\b", lambda match: match[1].capitalize() + "s", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", re.sub(r"([A-Z])([A-Z][a-z])", r"\1_\2", plurals)).lower()


def camel_case(name: str) -> str:
    """Convert ``node_name`` into ``nodeName``."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def kinds(manner: Manner) -> tuple[Record, ...]:
    """Return all known kinds; the first has only metadata and data."""
    return tuple(_type(kind, manner) for kind in _documents()[0])


def metadata(manner: Manner) -> Record:
    """Return the schema of ``metadata``: every object in a store has it, but each of its fields may be missing."""
    return _type("ObjectMeta", manner)


def type_named(name: str, manner: Manner) -> Record | None:
    """Return the schema of a type of the API, such as ``Pod`` or ``PodSpec``; ``None`` if it is unknown."""
    return _type(name, manner) if name in _documents()[1] else None


def map_named(name: str) -> Map | None:
    """Return the schema of a map with a fixed name, such as ``labels`` or ``limits``; ``None`` if it is unknown."""
    return _MAPS.get(name)


def value_named(name: str, manner: Manner) -> Text | Choice | Integer | Boolean | None:
    """Return the schema of plain values called ``name``; ``None`` if the known types do not agree on one."""
    schemas = _values(manner).get(name, [])
    return schemas[0] if len(schemas) == 1 else None


def field_in(known: Schema | None, name: str) -> Field | None:
    """Return a field of a known record; ``None`` if there is none."""
    fields = known.fields if isinstance(known, Record) else ()
    return next((field for field in fields if field.name == name), None)


@functools.cache
def _documents() -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Read ``kinds.yaml``; return the kinds, and the fields of all types, kinds included."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the loader written in C is not always installed
    file = files(__name__.rpartition(".")[0]).joinpath("kinds.yaml")
    said = yaml.load(file.read_text(encoding="utf-8"), loader)
    whole = {kind: {**_first(kind), **fields} for kind, fields in said["kinds"].items()}
    return said["kinds"], {**whole, **said["types"]}


def _first(kind: str) -> dict[str, Any]:
    return {"apiVersion": {"examples": ["v1", "apps/v1"]}, "kind": {"enum": [kind]}, "metadata!": "ObjectMeta"}


@functools.cache
def _type(name: str, manner: Manner) -> Record:
    fields = _documents()[1][name]
    return Record(tuple(_field(field, said, manner) for field, said in fields.items()), manner.style, name=name)


def _field(said_name: str, said_type: Any, manner: Manner) -> Field:
    name = said_name.removesuffix("!")
    is_optional, schema = name == said_name, _schema(said_type, manner)
    if isinstance(schema, Text) and schema.format is not Format.FREE and not is_optional:
        schema = replace(schema, least=1)
    snake = snake_case(name)
    own, other = (name, snake) if manner.is_camel else (snake, name)
    return Field(own, schema, is_optional, is_optional, () if own == other else (other,))


def _schema(said: Any, manner: Manner) -> Schema:
    match said:
        case "time":
            return Text(Format.TIME) if manner.style is Style.ITEMS else Moment()
        case {"map": value}:
            return Map(_KEY, _schema(value, manner))
        case {"enum": values}:
            return Choice(tuple(values))
        case {"examples": texts}:
            return Text(examples=tuple(texts))
        case [item, *most]:
            return Array(_schema(item, manner), most=most[0] if most else None)
    return _SCALARS.get(said) or _type(said, manner)


@functools.cache
def _values(manner: Manner) -> dict[str, list[Text | Choice | Integer | Boolean]]:
    by_name: dict[str, list[Text | Choice | Integer | Boolean]] = {}
    for name in _documents()[1]:
        for field in _type(name, manner).fields:
            known = by_name.setdefault(field.name, [])
            if isinstance(field.schema, Text | Choice | Integer | Boolean) and field.schema not in known:
                known.append(field.schema)
    return by_name
