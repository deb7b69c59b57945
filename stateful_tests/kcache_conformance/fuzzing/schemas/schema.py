"""A neutral description of objects: what generators, the judge of validity and the minimiser work on.

A closed set of frozen dataclasses. Dataclass types, client models, JSON schemas and samples are all turned into these.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias


class Format(enum.Enum):
    """The format of a text, where Kubernetes validates it."""

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
    """A ``str``. ``pattern`` is a regular expression that must be found in it (JSON Schema); lengths in characters.

    ``examples`` are some that really occur.
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
    """Whatever a strategy of the user's gives; kept as it is."""

    strategy: Any


@dataclass(frozen=True)
class Later:
    """A schema that is worked out when it is needed: types refer to themselves, and the client's are very many."""

    resolve: Callable[[], Schema]
    name: str = ""


class Style(enum.Enum):
    """The way in which the fields of a record are reached."""

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
        name: what it is called in the object.
        schema: of its value, where it has one.
        may_be_missing: it may be absent (:attr:`Style.ITEMS`), or left out when the instance is made.
        may_be_none: ``None`` is a valid value.
        aliases: what else it is called: ``nodeName`` for ``node_name``.
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
        style: how they are reached.
        make: the class of the instances, for :attr:`Style.CLASS`; takes the fields by keyword.
        name: for reports.
        notes: where its objects are not all that its class says.
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
    """Objects cannot be made from what was given; the message says what to give instead."""


def resolved(schema: Schema) -> Schema:
    """``schema``, worked out if it was put off."""
    while isinstance(schema, Later):
        schema = schema.resolve()
    return schema
