"""The objects of programs and histories, as plain data."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from kcache import Semantics

from ..render import LONGEST_NAME, cut_short, name_text, printable_line, quoted

__all__ = ["Item", "Semantics", "Style", "Values", "values_text"]

_MOST_VALUES = 12

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

    def __str__(self) -> str:
        """``a/x@v3{node: n1}``: key, stamp and index values, as far as there are any."""
        key = "<no key>" if self.key is None else name_text(self.key)
        style = None if self.style is Style.PLAIN else self.style.value
        extras = (("rv", self.resource_version), ("style", style))
        more = "".join(f" {name}={name_text(value)}" for name, value in extras if value is not None)
        return f"{key}@{cut_short(printable_line(self.stamp))}{values_text(self.values)}{more}"

    @property
    def bare(self) -> Item:
        """Its key and stamp."""
        return Item(self.key, self.stamp)

    @property
    def plain(self) -> Item:
        """The same without its style, and without indices where it has no values."""
        values = {index: found for index, found in self.values.items() if found != ()}
        return replace(self, style=Style.PLAIN, values=values)

    def in_full(self, name: str) -> Iterator[tuple[str, str]]:
        """Its text under a name, and the key and values that this cuts short."""
        yield name, str(self)
        if self.key is not None and len(self.key) > LONGEST_NAME:
            yield f"key of {name}", quoted(self.key)
        for index, values in self.values.items():
            for value in values or ():
                if len(value) > LONGEST_NAME:
                    yield f"value of {name} under {index}", quoted(value)


def values_text(values: Values) -> str:
    """``{node: n1, tags: n1+n2}``; empty if there are none."""
    if not values:
        return ""
    return "{" + ", ".join(f"{name_text(index)}: {_index_text(found)}" for index, found in sorted(values.items())) + "}"


def _index_text(found: tuple[str, ...] | None) -> str:
    if found is None:
        return "<fails>"
    more = f"+{len(found) - _MOST_VALUES} more" if len(found) > _MOST_VALUES else ""
    return "+".join(name_text(value) for value in found[:_MOST_VALUES]) + more if found else "-"
