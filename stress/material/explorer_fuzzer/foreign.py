"""A package that nobody instruments, as generated programs meet it."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import Any


class Store:
    """Keeps things in a dict; each method does one thing."""

    def __init__(self) -> None:
        self.kept: dict[Any, Any] = {}
        self.size = 0

    def put(self, key: Any, value: Any) -> None:
        """Keep."""
        self.kept[key] = value

    def get(self, key: Any) -> Any:
        """Look up."""
        return self.kept.get(key)

    def take(self, key: Any) -> Any:
        """Take out."""
        return self.kept.pop(key, None)

    def grow(self, by: int) -> None:
        """Write what others only read."""
        self.size = self.size + by

    def move(self, one: Any, other: Any) -> None:
        """Do two things."""
        self.kept[other] = self.kept.pop(one, None)

    def each(self, call: Any) -> list[Any]:
        """Call back in the midst of it."""
        return [call(value) for value in list(self.kept.values())]

    def __contains__(self, key: Any) -> bool:
        return key in self.kept

    def __len__(self) -> int:
        return len(self.kept)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self.kept))

    def __getitem__(self, key: Any) -> Any:
        return self.kept[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.kept[key] = value


class Base:
    """A base class that fills in what others look at."""

    def __init__(self, number: int = 0) -> None:
        self.low = number
        self.high = number

    def fill(self, number: int) -> None:
        """Write both."""
        self.low = number
        self.high = number

    def both(self) -> tuple[int, int]:
        """Read both."""
        return self.low, self.high


class Registered:
    """A base class that shows objects to others before they are ready."""

    def __init__(self, where: list[Any]) -> None:
        where.append(self)


class Dict(dict):  # type: ignore[type-arg]
    """A dict of another package."""

    def put(self, key: Any, value: Any) -> None:
        """Keep."""
        self[key] = value


class List(list):  # type: ignore[type-arg]
    """A list of another package."""

    def put(self, value: Any) -> None:
        """Keep."""
        self.append(value)


class User(collections.UserDict):  # type: ignore[type-arg]
    """A mapping made of Python."""


def write(obj: Any, number: int) -> None:
    """Write both attributes of what others own."""
    obj.low = number
    obj.high = number


def read(obj: Any) -> tuple[Any, Any]:
    """Read both."""
    return obj.low, obj.high


def put(container: Any, value: Any) -> None:
    """Add to what others own."""
    container.append(value)
