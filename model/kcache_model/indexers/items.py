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
"""Index name -> the values that its index function returns for the object; ``None`` if the function fails."""


class Style(enum.StrEnum):
    """Behaviour of the Python object that represents an item. The specification ignores it."""

    PLAIN = "plain"
    EQUAL = "equal"
    """Equal to, and with the same hash as, any other object of its key."""
    FALSY = "falsy"
    """``bool(obj)`` is false, ``len(obj)`` is 0."""
    UNHASHABLE = "unhashable"
    """With ``__eq__`` and without ``__hash__``, as the models of the official Kubernetes client."""
    TUPLES = "tuples"
    """Its index functions return tuples, and ``None`` if there are no values."""


@dataclass(frozen=True, slots=True)
class Item:
    """One version of one object.

    Attributes:
        key: the key that the key function returns for it; ``None`` if the key function fails.
        stamp: the name of this version; unique within a program, so that a result identifies the write that it saw.
        values: its values under each index; it has no values under an index that is missing here.
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
        """Text such as ``a/x@v3{node: n1}``: key, stamp and index values; then resource version and style, if set."""
        key = "<no key>" if self.key is None else name_text(self.key)
        style = None if self.style is Style.PLAIN else self.style.value
        extras = (("rv", self.resource_version), ("style", style))
        more = "".join(f" {name}={name_text(value)}" for name, value in extras if value is not None)
        return f"{key}@{cut_short(printable_line(self.stamp))}{values_text(self.values)}{more}"

    @property
    def bare(self) -> Item:
        """The item with only its key and stamp."""
        return Item(self.key, self.stamp)

    @property
    def plain(self) -> Item:
        """The item without its style, and without the indices under which it has no values."""
        values = {index: texts for index, texts in self.values.items() if texts != ()}
        return replace(self, style=Style.PLAIN, values=values)

    def in_full(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield (name, text of the item), then (name, full text) of its key and values that the text cuts short."""
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
    return "{" + ", ".join(f"{name_text(index)}: {_index_text(texts)}" for index, texts in sorted(values.items())) + "}"


def _index_text(texts: tuple[str, ...] | None) -> str:
    if texts is None:
        return "<fails>"
    more = f"+{len(texts) - _MOST_VALUES} more" if len(texts) > _MOST_VALUES else ""
    return "+".join(name_text(value) for value in texts[:_MOST_VALUES]) + more if texts else "-"
