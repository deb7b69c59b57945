"""Choice of at most N evenly spaced elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def evenly_spaced(items: Sequence[T], most: int) -> list[T]:
    """Return at most ``most`` (2 or more) of the items, at equal distances, including the first and the last."""
    if len(items) <= most:
        return list(items)
    return [items[round(number * (len(items) - 1) / (most - 1))] for number in range(most)]
