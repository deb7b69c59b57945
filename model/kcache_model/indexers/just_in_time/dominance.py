"""Dominance: a configuration is dropped if another configuration explains everything that it explains."""

from __future__ import annotations

from collections import defaultdict

from .configuration import NOTHING_OWED, Configuration, Owed


def undominated(configurations: list[Configuration]) -> list[Configuration]:
    """Return the configurations that no other dominates. Quadratic in the number of those with equal contents."""
    marks = {configuration.mark for configuration in configurations}
    if len(marks) == len(configurations):
        return configurations
    groups: dict[int, list[Configuration]] = defaultdict(list)
    for configuration in configurations:
        groups[configuration.mark].append(configuration)
    survivors: list[Configuration] = []
    for group in groups.values():
        best: list[Configuration] = []
        for configuration in group:
            for other in best:
                if dominates(other, configuration):
                    break
            else:
                best = [other for other in best if not dominates(configuration, other)]
                best.append(configuration)
        survivors += best
    return survivors


def dominates(one: Configuration, other: Configuration) -> bool:
    """Whether ``one`` explains everything that ``other`` explains from now on. May return false too often.

    It does if the representative contents are equal, each alternative of ``other`` has a match in ``one`` with no more
    owed writes, each unsatisfied read of ``one`` is unsatisfied in ``other``, and each write that is open only in
    ``one`` may be left out.
    """
    if len(one.unsatisfied) > len(other.unsatisfied) or len(one.puts) < len(other.puts):
        return False
    for read in one.unsatisfied:
        if read not in other.unsatisfied:
            return False
    if not _leaves_no_less_open(one, other) or one.cells != other.cells:
        return False
    if one.alternatives != other.alternatives:
        return _covers_alternatives(one, other)
    if one.owed == other.owed:
        return True
    return all(_are_among(owed, other.owed.get(key, NOTHING_OWED)) for key, owed in one.owed.items())


def _leaves_no_less_open(one: Configuration, other: Configuration) -> bool:
    if one.wide_writes != other.wide_writes:
        if not other.wide_writes.keys() <= one.wide_writes.keys():
            return False
        for wide, is_owed in one.wide_writes.items():
            if is_owed and not other.wide_writes.get(wide, False):
                return False
    if one.puts == other.puts:
        return True
    if not other.puts.keys() <= one.puts.keys():
        return False
    for write in one.puts:
        if write not in other.puts and (
            write.is_seen or any(write in owed for _, owed in one.alternatives_of(write.key))
        ):
            return False
    return True


def _covers_alternatives(one: Configuration, other: Configuration) -> bool:
    for key in one.alternatives.keys() | other.alternatives.keys() | one.owed.keys():
        possible = one.alternatives.get(key)
        if possible is not None and possible is other.alternatives.get(key):
            continue
        possible = possible or one.alternatives_of(key)
        for same, more in other.alternatives_of(key):
            for version, owed in possible:
                if version is same and _are_among(owed, more):
                    break
            else:
                return False
    return True


def _are_among(owed: Owed, more: Owed) -> bool:
    return not owed or owed == more or all(write in more for write in owed)
