"""Core of an impossible history: a small part of it that no order explains either."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from ..history import Call

T = TypeVar("T")

IsImpossible = Callable[[Sequence[Call]], bool]

_MOST_ASKED = 1_000
"""The maximum number of calls of ``is_impossible`` in one :func:`smaller_part`."""


def impossible_core(calls: Sequence[Call], is_impossible: IsImpossible) -> tuple[Call, ...]:
    """Return a subset of ``calls`` that no order explains even if every other write is optional.

    Without a read, a history is easier to explain. The same holds if a write becomes a pending call, which may take
    effect at any time after its invocation, or never. Therefore the whole history is impossible if the part is. The
    result is minimal: no single call of it can be left out. O(n) calls of ``is_impossible``.
    """
    core = list(calls)
    for call in sorted(calls, key=lambda call: (call.operation.is_write, -call.invoked)):
        rest = [other for other in core if other is not call]
        if is_impossible(with_optional_writes(rest, calls)):
            core = rest
    return tuple(core)


def with_optional_writes(core: Sequence[Call], calls: Sequence[Call]) -> list[Call]:
    """Return ``core`` and, as pending calls, all other writes of ``calls``."""
    in_core = {id(call) for call in core}
    optional = [
        replace(call, returned=None, outcome=None)
        for call in calls
        if id(call) not in in_core and call.operation.is_write
    ]
    return [*core, *optional]


def smaller_part(whole: Sequence[T], is_impossible: Callable[[Sequence[T]], bool]) -> Sequence[T]:
    """Return a small part that is impossible, too: leave out pieces, first large ones, at last single elements.

    See A. Zeller, R. Hildebrandt: Simplifying and Isolating Failure-Inducing Input (2002). If this takes more than
    ``_MOST_ASKED`` calls of ``is_impossible``, the part is not minimal.
    """
    checks = 0
    size = len(whole) // 2
    while size:
        at = len(whole)
        while at > 0:
            rest = [*whole[: max(at - size, 0)], *whole[at:]]
            checks += 1
            if checks > _MOST_ASKED:
                return whole
            if is_impossible(rest):
                whole = rest
            at -= size
        size //= 2
    return whole
