"""Dominance: a configuration is dropped if another one explains all that it can explain."""

from __future__ import annotations

from collections import defaultdict

from .configuration import Configuration
from .writes import Put


def undominated(configurations: list[Configuration]) -> list[Configuration]:
    """``configurations`` without those that another one dominates. Quadratic in those with equal contents."""
    groups: dict[int, list[Configuration]] = defaultdict(list)
    for configuration in configurations:
        groups[configuration.mark].append(configuration)
    if len(groups) == len(configurations):
        return configurations
    kept: list[Configuration] = []
    for group in groups.values():
        best: list[Configuration] = []
        for configuration in group:
            if not any(dominates(other, configuration) for other in best):
                best = [other for other in best if not dominates(configuration, other)]
                best.append(configuration)
        kept += best
    return kept


def dominates(one: Configuration, other: Configuration) -> bool:
    """Whether all that ``other`` explains from here on is explained by ``one``. May say no too often.

    It does if its representative contents are the same, each alternative of the other has a match with no more owed
    writes, it waits for no further reads, and each write that only it has open may be left out.
    """
    if len(one.unsatisfied) > len(other.unsatisfied) or len(other.open) > len(one.open):
        return False
    if one.cells != other.cells or not all(read in other.unsatisfied for read in one.unsatisfied):
        return False
    return _leaves_no_less_open(one, other) and _covers_alternatives(one, other)


def _leaves_no_less_open(one: Configuration, other: Configuration) -> bool:
    if not other.open.keys() <= one.open.keys():
        return False
    for write, is_owed in one.open.items():
        if not isinstance(write, Put):
            if is_owed and not other.open.get(write, False):
                return False
        elif write not in other.open and (
            write.is_seen or any(write in owed for _, owed in one.alternatives_of(write.key))
        ):
            return False
    return True


def _covers_alternatives(one: Configuration, other: Configuration) -> bool:
    keys = one.alternatives.keys() | other.alternatives.keys() | one.owed.keys()
    return all(
        any(version is same and owed <= more for version, owed in one.alternatives_of(key))
        for key in keys
        for same, more in other.alternatives_of(key)
    )
