"""Lookahead: conclusions from later calls about the order of earlier calls. It excludes only impossible orders."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable

from .configuration import Configuration
from .contents import ABSENT, Time, Version
from .reads import Read, ValuesRead
from .writes import Put, Replace, WideWrite, Write


class Upcoming:
    """Times at which each key is written: the invocations of the writes."""

    def __init__(self, writes: Iterable[Write]) -> None:
        by_key: dict[str, list[Time]] = defaultdict(list)
        replaces: list[Time] = []
        for write in writes:
            if isinstance(write, Put):
                by_key[write.key].append(write.invoked)
            elif isinstance(write, Replace):
                replaces.append(write.invoked)
            elif isinstance(write, WideWrite):
                for key in write.effect:
                    by_key[key].append(write.invoked)
        self._by_key = by_key
        self._replaces = replaces

    def between(self, key: str, now: Time, until: Time) -> bool:
        """Whether a write that may set ``key`` begins after ``now`` and not after ``until``. O(log n)."""
        return any(
            (position := bisect_right(times, now)) < len(times) and times[position] <= until
            for times in (self._by_key.get(key, ()), self._replaces)
        )


def is_hurt(configuration: Configuration, read: Read, write: Write) -> bool:
    """Whether ``read`` may fail to hold right after ``write`` although it held right before.

    If not, the read need not come before the write: an order with the read right after the write explains as much. May
    return true too often.
    """
    if isinstance(write, Put):
        if not read.allows(write.key, write.version):
            return True
        return isinstance(read, ValuesRead) and _may_lose_a_value(configuration, read, write)
    if isinstance(write, Replace):
        return not read.holds(write.contents)
    assert isinstance(write, WideWrite)
    return isinstance(read, ValuesRead) or any(not read.allows(key, version) for key, version in write.effect.items())


def _may_lose_a_value(configuration: Configuration, read: ValuesRead, write: Put) -> bool:
    """Whether only the version that ``write`` replaces may supply a value of the result. May return true too often."""
    replaced = [version for version, _ in configuration.alternatives_of(write.key)]
    unsettled = {write.key, *configuration.alternatives}
    if configuration.wide_writes:
        return True
    for other in configuration.puts:
        unsettled.add(other.key)
        if other.key == write.key:
            replaced.append(other.version)
    lost = {
        term
        for version in replaced
        for term in version.terms
        if term[0] == read.index and term[1] in read.values and term not in write.version.terms
    }
    return any(configuration.under(term).keys() <= unsettled for term in lost)


def may_hold_after(configuration: Configuration, read: Read, write: Write, now: Time, upcoming: Upcoming) -> bool:
    """Whether ``read``, which ``write`` hurts, may take effect after it: another write must then restore its result.

    May return true too often.
    """
    if isinstance(write, WideWrite):
        return all(
            written is version or _may_come(configuration, version, written, now)
            for version in read.versions
            if (written := write.at(version.key)) is not None
        )
    assert isinstance(write, Put)
    version = read.expected(write.key)
    if version is not None:
        return _may_come(configuration, version, write.version, now)
    if isinstance(read, ValuesRead):
        return True
    return any(
        other is not write and other.at(write.key) is not None for other in configuration.open_writes()
    ) or upcoming.between(write.key, now, read.returned)


def _may_come(configuration: Configuration, version: Version, written: Version, now: Time) -> bool:
    """Whether ``version`` may still replace ``written`` at its key."""
    has_begun = version.written <= now
    if has_begun and not any(write.at(version.key) is version for write in configuration.open_writes()):
        return False
    return written is ABSENT or written.seen_until <= version.due
