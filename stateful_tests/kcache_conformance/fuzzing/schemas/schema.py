"""Schema of objects, independent of its source: generators, the check of validity and the minimiser use it.

It is a closed set of frozen dataclasses. Dataclass types, client models, JSON schemas and samples become schemas.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias


class Format(enum.Enum):
    """The format of a text that Kubernetes validates."""

    FREE = "any text"
    NAME = "a DNS-1123 subdomain"
    LABEL = "a DNS-1123 label"
    LABEL_KEY = "a qualified name"
    LABEL_VALUE = "a label value"
    QUANTITY = "a resource quantity"
    DIGITS = "ASCII digits"
    TIME = "an RFC 3339 time"


@dataclass(frozen=True)
class Text:
    """A ``str``. ``pattern`` is a regular expression that must match a part of it (JSON Schema); lengths in characters.

    ``examples`` are texts that occur in practice.
    """

    format: Format = Format.FREE
    least: int = 0
    most: int | None = None
    pattern: str | None = None
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Integer:
    """An ``int``."""

    least: int | None = None
    most: int | None = None


@dataclass(frozen=True)
class Number:
    """A finite ``float``."""

    least: float | None = None
    most: float | None = None


@dataclass(frozen=True)
class Boolean:
    """A ``bool``."""


@dataclass(frozen=True)
class Moment:
    """A ``datetime`` in UTC."""


@dataclass(frozen=True)
class Bytes:
    """``bytes``."""


@dataclass(frozen=True)
class Standard:
    """An instance of one of the :data:`.standard_types.STANDARD_TYPES`."""

    kind: type


@dataclass(frozen=True)
class Nothing:
    """``None``."""


@dataclass(frozen=True)
class Choice:
    """One of some given values."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Either:
    """Any of some schemas."""

    options: tuple[Schema, ...]


@dataclass(frozen=True)
class Array:
    """A list; as ``container`` says, a tuple, set or frozenset."""

    item: Schema
    least: int = 0
    most: int | None = None
    container: type = list


@dataclass(frozen=True)
class Map:
    """A ``dict`` with keys that are not known beforehand: labels, annotations, data."""

    key: Schema
    value: Schema
    least: int = 0
    most: int | None = None


@dataclass(frozen=True)
class Anything:
    """Any plain JSON value."""


@dataclass(frozen=True)
class Given:
    """The values of a strategy of the user, unchanged."""

    strategy: Any


@dataclass(frozen=True)
class Later:
    """A schema that is computed when it is needed: types refer to themselves, and the client has very many types."""

    resolve: Callable[[], Schema]
    name: str = ""


class Style(enum.Enum):
    """The way in which the fields of a record are accessed."""

    ITEMS = "items"
    """A ``dict``: an optional field may be absent."""
    ATTRIBUTES = "attributes"
    """A namespace: all fields are there, an optional one may be ``None``."""
    CLASS = "class"
    """An instance of a class: all fields are there, an optional one may be ``None``."""


@dataclass(frozen=True)
class Field:
    """One field of a record.

    Attributes:
        name: its name in the object.
        schema: the schema of its value, if it has a value.
        may_be_missing: whether it may be absent (:attr:`Style.ITEMS`), or omitted when the instance is created.
        may_be_none: whether ``None`` is a valid value.
        aliases: its other names: ``nodeName`` for ``node_name``.
    """

    name: str
    schema: Schema
    may_be_missing: bool = True
    may_be_none: bool = True
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Record:
    """An object with known fields.

    Attributes:
        fields: in the order of the declaration.
        style: the way in which they are accessed.
        make: the class of the instances, for :attr:`Style.CLASS`; takes the fields by keyword.
        name: its name in reports.
        notes: differences between its objects and the declaration of its class, such as omitted fields.
    """

    fields: tuple[Field, ...]
    style: Style = Style.ITEMS
    make: Callable[..., Any] | None = field(default=None, compare=False)
    name: str = ""
    notes: tuple[str, ...] = ()


Schema: TypeAlias = (
    Text
    | Integer
    | Number
    | Boolean
    | Moment
    | Bytes
    | Standard
    | Nothing
    | Choice
    | Either
    | Array
    | Map
    | Anything
    | Given
    | Later
    | Record
)


class SchemaError(ValueError):
    """Objects cannot be created from the user's source of objects; the message says what to do."""


def resolved(schema: Schema) -> Schema:
    """Return ``schema``; if it is a :class:`Later`, compute it."""
    while isinstance(schema, Later):
        schema = schema.resolve()
    return schema
