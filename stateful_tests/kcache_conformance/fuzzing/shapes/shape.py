"""A neutral description of objects: what generators, the judge of legality and the minimiser work on.

A closed set of frozen dataclasses. Dataclass types, client models, JSON schemas and samples are all turned into these.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias


class Format(enum.Enum):
    """What a text may be, where Kubernetes validates it."""

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
class Whole:
    """An ``int``."""

    least: int | None = None
    most: int | None = None


@dataclass(frozen=True)
class Fraction:
    """A finite ``float``."""

    least: float | None = None
    most: float | None = None


@dataclass(frozen=True)
class Flag:
    """A ``bool``."""


@dataclass(frozen=True)
class Moment:
    """A ``datetime`` in UTC."""


@dataclass(frozen=True)
class Blob:
    """``bytes``."""


@dataclass(frozen=True)
class Nothing:
    """``None``."""


@dataclass(frozen=True)
class Choice:
    """One of some given values."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Either:
    """Any of some shapes."""

    options: tuple[Shape, ...]


@dataclass(frozen=True)
class Listing:
    """A list; as ``container`` says, a tuple, set or frozenset."""

    item: Shape
    least: int = 0
    most: int | None = None
    container: type = list


@dataclass(frozen=True)
class Table:
    """A ``dict`` with keys that are not known beforehand: labels, annotations, data."""

    key: Shape
    value: Shape
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
    """A shape that is worked out when it is needed: types refer to themselves, and the client's are very many."""

    resolve: Callable[[], Shape]
    name: str = ""


class Style(enum.Enum):
    """How the fields of a record are reached."""

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
        shape: of its value, where it has one.
        may_be_missing: it may be absent (:attr:`Style.ITEMS`), or left out when the instance is made.
        may_be_none: ``None`` is a legal value.
        aliases: what else it is called: ``nodeName`` for ``node_name``.
    """

    name: str
    shape: Shape
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
    """

    fields: tuple[Field, ...]
    style: Style = Style.ITEMS
    make: Callable[..., Any] | None = field(default=None, compare=False)
    name: str = ""


Shape: TypeAlias = (
    Text
    | Whole
    | Fraction
    | Flag
    | Moment
    | Blob
    | Nothing
    | Choice
    | Either
    | Listing
    | Table
    | Anything
    | Given
    | Later
    | Record
)


class ShapeError(ValueError):
    """Objects cannot be made from what was given; the message says what to give instead."""


def resolved(shape: Shape) -> Shape:
    """``shape``, worked out if it was put off."""
    while isinstance(shape, Later):
        shape = shape.resolve()
    return shape
