"""Shrinks a history that no order explains to a small part that none explains either."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from ..history import Call

T = TypeVar("T")

IsImpossible = Callable[[Sequence[Call]], bool]

_MOST_ASKED = 1_000
"""Times that :func:`smaller_part` asks."""


def impossible_core(calls: Sequence[Call], is_impossible: IsImpossible) -> tuple[Call, ...]:
    """A subset of ``calls`` that cannot be explained even if every other write may or may not have happened.

    A read that is left out makes a history easier to explain, and so does a write that is turned into a pending call:
    it may take effect at any time after its invocation, or never. So each step keeps the verdict true. The result is
    minimal: no single call of it can be left out. O(n) calls of ``is_impossible``.
    """
    core = list(calls)
    for call in sorted(calls, key=lambda call: (call.operation.is_write, -call.invoked)):
        rest = [kept for kept in core if kept is not call]
        if is_impossible(with_optional_writes(rest, calls)):
            core = rest
    return tuple(core)


def with_optional_writes(core: Sequence[Call], calls: Sequence[Call]) -> list[Call]:
    """``core``, and every other write of ``calls`` as a pending call."""
    kept = {id(call) for call in core}
    optional = [
        replace(call, returned=None, outcome=None) for call in calls if id(call) not in kept and call.operation.is_write
    ]
    return [*core, *optional]


def smaller_part(whole: Sequence[T], is_impossible: Callable[[Sequence[T]], bool]) -> Sequence[T]:
    """A part that is impossible as the whole is: pieces are left out, large ones first, single ones last.

    As A. Zeller, R. Hildebrandt: Simplifying and Isolating Failure-Inducing Input (2002). Where that takes too many
    questions, the part is not minimal.
    """
    asked = 0
    size = len(whole) // 2
    while size:
        at = len(whole)
        while at > 0:
            rest = [*whole[: max(at - size, 0)], *whole[at:]]
            asked += 1
            if asked > _MOST_ASKED:
                return whole
            if is_impossible(rest):
                whole = rest
            at -= size
        size //= 2
    return whole
