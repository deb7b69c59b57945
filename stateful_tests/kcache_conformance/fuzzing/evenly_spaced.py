"""Choice of at most N evenly spaced elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def evenly_spaced(items: Sequence[T], most: int) -> list[T]:
    """At most so many of the items (2 or more), the first and the last among them, at equal distances."""
    if len(items) <= most:
        return list(items)
    return [items[round(number * (len(items) - 1) / (most - 1))] for number in range(most)]
