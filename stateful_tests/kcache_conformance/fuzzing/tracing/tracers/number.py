"""Numbers that record the values of comparisons."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

from .notes import Notes, Path

Weights: TypeAlias = dict[Path, tuple[int | Fraction, int]]
"""Path of each part that a number depends on -> the factor of the part in a linear expression, and its value."""


class TracingNumber(int):
    """A number that records the values of comparisons; so do its sums, and its products with constants."""

    _notes: Notes
    _weights: Weights

    def __new__(cls, value: int, notes: Notes, weights: Weights) -> TracingNumber:
        """Create a tracer; ``weights`` has the factor and the value of each part that the number depends on."""
        tracer = super().__new__(cls, value)
        tracer._notes, tracer._weights = notes, weights
        return tracer

    def _meet(self, other: Any) -> None:
        """Wish for values of parts with which this number equals ``other``, and for their neighbours."""
        wanted = int(other) if isinstance(other, int) else other
        if not isinstance(wanted, (int, float)) or wanted != wanted or abs(wanted) > 2**80:
            return
        gap = int(wanted) - int(self)
        for path, (factor, value) in self._weights.items():
            if factor and gap % factor == 0:
                for near in (0, 1, -1):
                    self._notes.wish(path, value + gap // factor + near)
        if isinstance(other, TracingNumber) and other._weights.keys() != self._weights.keys():
            TracingNumber(int(wanted), other._notes, other._weights)._meet(int(self))

    def _sum(self, other: Any, sign: int) -> Any:
        if not isinstance(other, int):
            return NotImplemented
        weights = dict(self._weights)
        if isinstance(other, TracingNumber):
            for path, (factor, value) in other._weights.items():
                known = weights.get(path, (0, value))[0]
                weights[path] = (known + sign * factor, value)
        return TracingNumber(int(self) + sign * int(other), self._notes, weights)

    def __add__(self, other: Any) -> Any:
        return self._sum(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._sum(other, -1)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._sum(other, 1)

    def __neg__(self) -> TracingNumber:
        return self * -1  # type: ignore[no-any-return]

    def __mul__(self, other: Any) -> Any:
        if type(other) is not int:
            return int(self) * other
        weights = {path: (factor * other, value) for path, (factor, value) in self._weights.items()}
        return TracingNumber(int(self) * other, self._notes, weights)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        self._divided_by(other)
        if type(other) is not int or not other:
            return int(self) // other
        weights: Weights = {path: (Fraction(by, other), value) for path, (by, value) in self._weights.items()}
        return TracingNumber(int(self) // other, self._notes, weights)

    def __truediv__(self, other: Any) -> Any:
        self._divided_by(other)
        return int(self) / other

    def __rfloordiv__(self, other: Any) -> Any:
        self._meet(0)
        return other // int(self)

    def __rtruediv__(self, other: Any) -> Any:
        self._meet(0)
        return other / int(self)

    def __mod__(self, other: Any) -> Any:
        self._divided_by(other)
        if type(other) is int and other:
            for rest in (0, 1, other - 1):
                self._meet(int(self) - int(self) % other + rest)
            return TracingNumber(int(self) % other, self._notes, self._weights)
        return int(self) % other

    @staticmethod
    def _divided_by(other: Any) -> None:
        if isinstance(other, TracingNumber):
            other._meet(0)

    def __bool__(self) -> bool:
        self._meet(0)
        return int(self) != 0

    __hash__ = int.__hash__


def _comparing(compare: Callable[[Any, Any], bool]) -> Callable[[TracingNumber, Any], bool]:
    def compared(self: TracingNumber, other: Any) -> bool:
        self._meet(other)
        return bool(compare(int(self), other))

    return compared


for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
    setattr(TracingNumber, _name, _comparing(getattr(operator, _name)))
