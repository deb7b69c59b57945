"""Threads that do the same: what one of them does first, another might have done, and it would be the same.

As long as none of them has begun, they can change places, and so can they in all that follows. A search that lets them
begin in order sees one of the executions that differ in nothing but their places (E. Clarke, R. Enders, T. Filkorn,
S. Jha: Exploiting Symmetry in Temporal Logic Model Checking, 1996). It holds as long as nobody asks who he is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any


class EqualActors:
    """The threads of a program, and which of them do the same.

    Args:
        work: what each of them does; those whose work is equal do the same.
    """

    def __init__(self, work: Sequence[object] = ()) -> None:
        groups: list[list[int]] = []
        for thread, own in enumerate(work):
            group = next((group for group in groups if _are_same(work[group[0]], own)), None)
            if group is None:
                groups.append([thread])
            else:
                group.append(thread)
        self._groups = [group for group in groups if len(group) > 1]
        self._group_of = {thread: group for group in self._groups for thread in group}

    def __bool__(self) -> bool:
        return bool(self._groups)

    def in_place_of(self, thread: int, begun: Collection[int]) -> int:
        """Who may as well go on as ``thread``: the first that does the same, if neither has begun."""
        group = self._group_of.get(thread)
        if group is None or thread in begun:
            return thread
        return next(other for other in group if other not in begun)

    def in_order(self, outcomes: Sequence[Any]) -> tuple[Any, ...]:
        """What came of each thread, as if those that do the same had changed places until it is in order."""
        placed = list(outcomes)
        for group in self._groups:
            for thread, outcome in zip(group, sorted((outcomes[thread] for thread in group), key=repr), strict=True):
                placed[thread] = outcome
        return tuple(placed)


def _are_same(one: object, other: object) -> bool:
    """Whether they are equal, and look so: 1 and True are equal as well."""
    return one == other and repr(one) == repr(other)


NONE_EQUAL = EqualActors()
