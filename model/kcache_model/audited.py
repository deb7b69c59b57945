"""Extent of audits: how many executions of unchanged code, and at how many of its places a thread was interrupted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .errors import FormatError


@dataclass(frozen=True)
class Audited:
    """Extent of the audits of exhaustive searches.

    Attributes:
        executions: number of executions.
        covered: number of places at which a thread was interrupted: the others ran to their ends before it went on.
        places: number of places that threads reached: the opcodes, of each thread, that touch more than the frame.
    """

    executions: int = 0
    covered: int = 0
    places: int = 0

    def __add__(self, other: Audited) -> Audited:
        return Audited(self.executions + other.executions, self.covered + other.covered, self.places + other.places)

    def __bool__(self) -> bool:
        return self.executions > 0

    def __str__(self) -> str:
        return f"{self.covered:,} of {self.places:,} places"

    def to_json(self) -> dict[str, int]:
        """Return the numbers by name."""
        return {"executions": self.executions, "covered": self.covered, "places": self.places}

    @staticmethod
    def from_json(data: Any) -> Audited:
        """Parse the result of :meth:`to_json`; the input is not trusted.

        Raises:
            FormatError: a number is missing or is no count.
        """
        counts = [data.get(name) if isinstance(data, Mapping) else None for name in ("executions", "covered", "places")]
        numbers = [count for count in counts if type(count) is int and count >= 0]
        if len(numbers) != len(counts):
            raise FormatError(f"an audit has three counts: executions, covered, places; not {data!r}")
        return Audited(*numbers)


NOT_AUDITED: Final = Audited()
