"""Bound of small-scope verification: the largest programs that are checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_MOST: Final = 4


@dataclass(frozen=True)
class Bound:
    """The size of the largest programs that are checked.

    Attributes:
        threads: the maximum number of threads; at least two.
        operations: the maximum number of calls of each thread; at least one.
    """

    threads: int
    operations: int

    def __str__(self) -> str:
        return f"{self.threads}x{self.operations}"


def parse_bound(text: str) -> Bound:
    """Parse a bound: ``"3x2"`` means at most three threads with at most two calls each.

    Raises:
        ValueError: ``text`` is no bound, is too small for a concurrent program, or is larger than 4x4.
    """
    match = re.fullmatch(r"([0-9]{1,3})x([0-9]{1,3})", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a bound; write THREADSxOPERATIONS, such as 2x2")
    bound = Bound(int(match[1]), int(match[2]))
    if bound.threads < 2 or bound.operations < 1:
        raise ValueError(
            f"{text!r} is too small for a concurrent program; the smallest bound is 2x1: two threads of one operation"
        )
    if bound.threads > _MOST or bound.operations > _MOST:
        raise ValueError(f"{text!r} would take too long; the largest bound is {_MOST}x{_MOST}")
    return bound
