"""Union: configurations that differ only under one key become one configuration, with the alternatives of both."""

from __future__ import annotations

from .configuration import Configuration
from .contents import Time


def united(configurations: list[Configuration], now: Time) -> list[Configuration]:
    """Return fewer configurations that together represent the same possibilities; the arguments may be changed.

    Each configuration is united with the first possible one. Unions that become possible only then are left to the next
    call. O(objects) for each pair.

    Args:
        configurations: all possible configurations.
        now: the present time. A version is no alternative if a read that begins later returns it.
    """
    unions: list[Configuration] = []
    for configuration in configurations:
        for other in unions:
            if _take_in(other, configuration, now):
                break
        else:
            unions.append(configuration)
    return unions


def _take_in(one: Configuration, other: Configuration, now: Time) -> bool:
    """Change ``one`` so that it represents ``other``, too; return whether that is possible."""
    if one.puts != other.puts or one.unsatisfied != other.unsatisfied or one.wide_writes != other.wide_writes:
        return False
    keys = _different(one, other)
    if len(keys) > 1:
        return False
    for key in keys:
        ours = one.alternatives_of(key)
        alternatives = (*ours, *[each for each in other.alternatives_of(key) if each not in ours])
        if any(version.seen_until > now for version, _ in alternatives):
            return False
        one.restrict(key, alternatives)
    return True


def _different(one: Configuration, other: Configuration) -> set[str]:
    """The keys under which the two configurations may differ; incomplete if there are several."""
    theirs = other.cells
    keys = {key for key, version in one.cells.items() if theirs.get(key) is not version}
    keys |= theirs.keys() - one.cells.keys()
    if len(keys) > 1:
        return keys
    if one.alternatives != other.alternatives:
        keys.update([key for key, _ in one.alternatives.items() ^ other.alternatives.items()])
    if one.owed != other.owed:
        keys.update([key for key, _ in one.owed.items() ^ other.owed.items()])
    return keys
