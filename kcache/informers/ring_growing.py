"""A buffer that takes whatever comes (``k8s.io/utils/buffer`` ``RingGrowing``)."""

from __future__ import annotations

from typing import Any

_FIRST_GROWTH = 16


class RingGrowing:
    """A first-in, first-out ring that doubles when it is full and never shrinks. Not thread-safe.

    Reading and writing are O(1), writing amortised. What was read is let go at once.

    Args:
        initial_size: how many values it holds before it grows for the first time.
    """

    def __init__(self, initial_size: int = 1024) -> None:
        if initial_size < 0:
            raise ValueError(f"a ring cannot begin with {initial_size} places; give 0 or more")
        self._ring: list[Any] = [None] * initial_size
        self._first = 0
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def capacity(self) -> int:
        """How many values it can hold before it grows again."""
        return len(self._ring)

    def write_one(self, value: Any) -> None:
        """Put a value behind all others."""
        if self._count == len(self._ring):
            self._grow()
        self._ring[(self._first + self._count) % len(self._ring)] = value
        self._count += 1

    def read_one(self) -> Any:
        """Take the first value out.

        Raises:
            IndexError: the ring is empty.
        """
        if not self._count:
            raise IndexError("nothing to read: the ring is empty")
        value = self._ring[self._first]
        self._ring[self._first] = None
        self._first = (self._first + 1) % len(self._ring)
        self._count -= 1
        return value

    def clear(self) -> None:
        """Let go of everything; the places remain."""
        self._ring = [None] * len(self._ring)
        self._first = self._count = 0

    def _grow(self) -> None:
        in_order = self._ring[self._first :] + self._ring[: self._first]
        self._ring = in_order + [None] * (len(in_order) or _FIRST_GROWTH)
        self._first = 0
