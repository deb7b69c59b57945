"""The objects of programs and histories, as plain data."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from kcache import Semantics

__all__ = ["Item", "Semantics", "Style", "Values"]

Values = Mapping[str, tuple[str, ...] | None]
"""Index name -> what its index function returns for the object; ``None`` where the function fails."""


class Style(enum.StrEnum):
    """How the Python object that stands for an item behaves; the meaning of the item is the same."""

    PLAIN = "plain"
    EQUAL = "equal"
    """Equal to, and with the same hash as, any other object of its key."""
    FALSY = "falsy"
    """``bool(obj)`` is false, ``len(obj)`` is 0."""
    UNHASHABLE = "unhashable"
    """Defines ``__eq__`` and no ``__hash__``, as the official Kubernetes client's models do."""
    TUPLES = "tuples"
    """Its index functions return tuples, and ``None`` where there are no values."""


@dataclass(frozen=True, slots=True)
class Item:
    """One version of one object.

    Attributes:
        key: what the key function returns for it; ``None`` if the key function fails.
        stamp: names this version; unique within a program, so that a result tells which write it saw.
        values: its values under each index; an index that is missing here gives none.
        resource_version: its resource version; ``None`` if it carries no metadata.
        style: see :class:`Style`.
    """

    key: str | None
    stamp: str
    values: Values = field(default_factory=lambda: MappingProxyType({}))
    resource_version: str | None = None
    style: Style = Style.PLAIN

    def __hash__(self) -> int:
        return hash((self.key, self.stamp))
