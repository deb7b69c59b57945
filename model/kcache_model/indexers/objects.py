"""Python objects that represent items, with their key function and index functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..stamped import Stamped
from .items import Item, Style, Values


class KeyUnavailableError(Exception):
    """The error that the harness's key function raises for an item without a key."""


class IndexUnavailableError(Exception):
    """The error that the harness's index functions raise for an item whose values are ``None``."""


class Metadata:
    """Kubernetes-style metadata, for implementations that read the resource version."""

    __slots__ = ("labels", "name", "namespace", "resource_version")

    def __init__(self, name: str, resource_version: str) -> None:
        self.name = name
        self.namespace = ""
        self.resource_version = resource_version
        self.labels: dict[str, str] = {}


class Thing(Stamped):
    """An object that is passed to the implementation under test."""

    __slots__ = ("__weakref__", "key", "metadata", "stamp", "values")

    def __init__(self, item: Item) -> None:
        self.key = item.key
        self.stamp = item.stamp
        self.values: Values = item.values
        version = item.resource_version
        self.metadata = None if version is None else Metadata(item.key or "", version)

    def label(self) -> str:
        """Return ``key@stamp``."""
        return f"{self.key}@{self.stamp}"

    def __repr__(self) -> str:
        return f"<{self.label()}>"


class EqualThing(Thing):
    """Equal to every other object of its key."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EqualThing) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class FalsyThing(Thing):
    """An object that is false in a boolean context and has length 0."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        return 0


class UnhashableThing(Thing):
    """An object that can be compared but not hashed: it cannot be in a set or be a key of a dict."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnhashableThing) and (self.key, self.stamp) == (other.key, other.stamp)


class TupleThing(Thing):
    """An object whose index functions return a tuple, or ``None`` if there are no values."""

    __slots__ = ()


_CLASSES: dict[Style, type[Thing]] = {
    Style.PLAIN: Thing,
    Style.EQUAL: EqualThing,
    Style.FALSY: FalsyThing,
    Style.UNHASHABLE: UnhashableThing,
    Style.TUPLES: TupleThing,
}


def materialise(item: Item) -> Thing:
    """Create an object that represents ``item``."""
    return _CLASSES[item.style](item)


def key_func(obj: Thing) -> str:
    """The key function of these objects.

    Raises:
        KeyUnavailableError: the item has no key.
    """
    if obj.key is None:
        raise KeyUnavailableError(f"{obj!r} has no key")
    return obj.key


def index_func(name: str) -> Callable[[Thing], Sequence[str] | None]:
    """The index function of the index ``name``; it raises IndexUnavailableError if the item's values are ``None``."""

    def values_of(obj: Thing) -> Sequence[str] | None:
        values = obj.values.get(name, ())
        if values is None:
            raise IndexUnavailableError(f"{obj!r} has no values under {name}")
        if isinstance(obj, TupleThing):
            return values or None
        return list(values)

    values_of.__name__ = values_of.__qualname__ = f"values_under_{name}"
    return values_of
