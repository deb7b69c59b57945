"""Equal actors: actors that do the same work and can be swapped.

As long as two equal actors have not begun, swapping them leads to an execution that differs in their numbers only. A
search that lets equal actors begin in the order of their numbers sees one of these executions (E. Clarke, R. Enders,
T. Filkorn, S. Jha: Exploiting Symmetry in Temporal Logic Model Checking, 1996). This is sound as long as no actor asks
for its own number.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any


class EqualActors:
    """Groups of actors of a program that do the same work.

    Args:
        work: the work of each actor; actors with equal work are equal.

    Attributes:
        groups: the actors of each group of at least two, in the order of their numbers.
    """

    def __init__(self, work: Sequence[object] = ()) -> None:
        groups: list[list[int]] = []
        for thread, own in enumerate(work):
            group = next((group for group in groups if _are_same(work[group[0]], own)), None)
            if group is None:
                groups.append([thread])
            else:
                group.append(thread)
        self.groups = [group for group in groups if len(group) > 1]
        self._group_of = {thread: group for group in self.groups for thread in group}

    def __bool__(self) -> bool:
        return bool(self.groups)

    def in_place_of(self, thread: int, begun: Collection[int]) -> int:
        """Return the actor to run instead of ``thread``: the first equal actor that has not begun, or ``thread``."""
        group = self._group_of.get(thread)
        if group is None or thread in begun:
            return thread
        return next(other for other in group if other not in begun)

    def in_order(self, outcomes: Sequence[Any]) -> tuple[Any, ...]:
        """Return the outcomes of the actors in a canonical order: those of equal actors are sorted."""
        placed = list(outcomes)
        for group in self.groups:
            for thread, outcome in zip(group, sorted((outcomes[thread] for thread in group), key=repr), strict=True):
                placed[thread] = outcome
        return tuple(placed)


def _are_same(one: object, other: object) -> bool:
    """Whether two objects are equal and have the same ``repr``: 1 and True are equal, but are not the same."""
    return one == other and repr(one) == repr(other)


NONE_EQUAL = EqualActors()
