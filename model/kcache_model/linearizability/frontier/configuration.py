"""Configurations: what the cache may hold at one moment, and which open calls are still to come.

A configuration is *factored*: whether an unseen write came before or after the present version of its key is kept open
key by key, as alternatives. One configuration thus stands for the product of the alternatives of all keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .contents import ABSENT, Contents, Time, Version
from .reads import Read, ValuesRead
from .writes import Put, Replace, WideWrite, Write

Owed = frozenset[Write]
"""Open unseen writes that must still take effect: since each began, nothing has been written that could hide it."""

Alternative = tuple[Version, Owed]
"""What may be under a key, and which writes to this key are owed in that case."""

NOTHING_OWED: Final[Owed] = frozenset()


class Configuration(Contents):
    """One possibility, or rather a product of possibilities.

    The contents that it holds as :class:`Contents` are one representative: for each key with alternatives, the version
    of one of them.

    Attributes:
        unsatisfied: the open reads that have not taken effect.
        open: the open writes that have not taken effect; for a wide one, whether it is owed. A write that is not owed
            may have been hidden: it took effect immediately before another write of the same keys.
        owed: key -> the writes to it that are owed, for keys with one alternative.
        alternatives: key -> its alternatives, for keys with several. No read returns any of their versions after now.
    """

    __slots__ = ("alternatives", "open", "owed", "unsatisfied")

    def __init__(self, indexes: tuple[str, ...]) -> None:
        super().__init__(indexes)
        self.unsatisfied: list[Read] = []
        self.open: dict[Write, bool] = {}
        self.owed: dict[str, Owed] = {}
        self.alternatives: dict[str, tuple[Alternative, ...]] = {}

    def copy(self) -> Configuration:
        """An independent copy. O(objects + open calls)."""
        copied = Configuration(())
        copied.become(self)
        copied.unsatisfied = self.unsatisfied.copy()
        copied.open = self.open.copy()
        copied.owed = self.owed.copy()
        copied.alternatives = self.alternatives.copy()
        return copied

    def alternatives_of(self, key: str) -> tuple[Alternative, ...]:
        """What may be under ``key``; one possibility or several."""
        return self.alternatives.get(key) or ((self.cells.get(key, ABSENT), self.owed.get(key, NOTHING_OWED)),)

    def versions(self) -> Iterator[Version]:
        """All versions that may be in the store."""
        yield from self.cells.values()
        for _, version in self._undecided():
            yield version

    def begin(self, write: Write) -> None:
        """``write`` has been invoked."""
        if isinstance(write, WideWrite) or write.is_seen or write.is_pending:
            self.open[write] = write.is_seen or not write.is_pending
            return
        assert isinstance(write, Put)
        self.open[write] = True
        key, this = write.key, frozenset((write,))
        if key in self.alternatives:
            self.alternatives[key] = tuple([(version, owed | this) for version, owed in self.alternatives[key]])
        else:
            owed = self.owed.get(key)
            self.owed[key] = owed | this if owed else this

    def take(self, write: Write) -> None:
        """``write`` takes effect. Other open unseen writes of the same keys may have been hidden just before."""
        del self.open[write]
        if isinstance(write, Put):
            self._set(write.key, write.version)
            return
        assert isinstance(write, WideWrite)
        if isinstance(write, Replace):
            self.become(write.contents)
            self.owed.clear()
            self.alternatives.clear()
        else:
            for key, version in write.effect.items():
                self._set(key, version)
        for other in self.open:
            if isinstance(other, WideWrite) and not other.is_seen and other.is_covered_by(write):
                self.open[other] = False

    def _set(self, key: str, version: Version) -> None:
        self.owed.pop(key, None)
        if self.alternatives:
            self.alternatives.pop(key, None)
        self.put(key, version)

    def restrict(self, key: str, alternatives: tuple[Alternative, ...]) -> None:
        """Let ``alternatives`` be the possibilities for ``key``; there must be at least one."""
        present = self.cells.get(key, ABSENT)
        if all(version is not present for version, _ in alternatives):
            self.put(key, alternatives[0][0])
        if len(alternatives) > 1:
            self.owed.pop(key, None)
            self.alternatives[key] = alternatives
            return
        self.alternatives.pop(key, None)
        owed = alternatives[0][1]
        if owed:
            self.owed[key] = owed
        else:
            self.owed.pop(key, None)

    def can_hide(self, write: Write) -> bool:
        """Whether ``write``, open and unseen, has been hidden in some alternative."""
        if isinstance(write, Put):
            return any(write not in owed for _, owed in self.alternatives_of(write.key))
        return not self.open[write]

    def hide(self, write: Write) -> None:
        """Keep only the alternatives in which ``write`` has been hidden; there must be one."""
        del self.open[write]
        if isinstance(write, Put) and write.key in self.alternatives:
            self.restrict(write.key, tuple([each for each in self.alternatives[write.key] if write not in each[1]]))

    def can_overwrite(self, write: Write, now: Time) -> bool:
        """Whether no version that ``write`` replaces is returned by a read that begins after ``now``."""
        cells = self.cells
        if isinstance(write, Put):
            return cells.get(write.key, ABSENT).seen_until <= now
        if isinstance(write, Replace):
            return all(version.seen_until <= now for version in cells.values())
        assert isinstance(write, WideWrite)
        return all(cells.get(key, ABSENT).seen_until <= now for key in write.effect)

    def surely_holds(self, read: Read) -> bool:
        """Whether ``read`` gives its result whatever the alternatives."""
        if not self.alternatives:
            return read.holds(self)
        if not all(read.allows(key, version) for key, version in self._undecided()):
            return False
        if not isinstance(read, ValuesRead):
            return read.holds(self)
        values = self.index[read.index]
        return values.keys() <= read.values and all(self.surely_has(read.index, value) for value in read.values)

    def _undecided(self) -> Iterator[tuple[str, Version]]:
        for key, alternatives in self.alternatives.items():
            for version, _ in alternatives:
                yield key, version

    def surely_has(self, index: str, value: str) -> bool:
        """Whether some key has something under the index value in all of its alternatives."""
        return any(
            all((index, value) in version.terms for version, _ in self.alternatives_of(key))
            for key in self.under((index, value))
        )
