"""Configurations: possible contents of the cache at one moment, and the open calls that have not taken effect.

A configuration is *factored*: whether an unseen write came before or after the present version of its key is left open
key by key, as alternatives. So one configuration represents the product of the alternatives of all keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Final

from .contents import ABSENT, NEVER, UNSEEN, Contents, Time, Version
from .reads import Read, ValuesRead
from .writes import Put, Replace, WideWrite, Write

Owed = tuple[Put, ...]
"""Open unseen writes that must still take effect, because no write that could hide them has taken effect since they
began. In the order of their invocations; there are rarely more than two."""

Alternative = tuple[Version, Owed]
"""A version that may be stored under a key, and the writes to this key that are owed in this case."""

NOTHING_OWED: Final[Owed] = ()


_SEEN_UNTIL: Final = attrgetter("seen_until")


class Configuration(Contents):
    """One possible state of the cache and of the open calls, or the product of several if keys have alternatives.

    Its contents as :class:`Contents` are one representative: a key with alternatives has the version of one of them.

    Attributes:
        unsatisfied: the open reads that have not taken effect.
        puts: the open writes of one key that have not taken effect; an ordered set.
        wide_writes: the open wide writes that have not taken effect, and whether each is owed. An unseen write that is
            not owed may have been hidden: it took effect immediately before another write of the same keys.
        owed: key -> the writes to it that are owed, for keys with one alternative.
        alternatives: key -> its alternatives, for keys with several. No read that begins later returns their versions.
    """

    __slots__ = ("alternatives", "owed", "puts", "unsatisfied", "wide_writes")

    def __init__(self, indexes: tuple[str, ...]) -> None:
        super().__init__(indexes)
        self.unsatisfied: list[Read] = []
        self.puts: dict[Put, None] = {}
        self.wide_writes: dict[WideWrite, bool] = {}
        self.owed: dict[str, Owed] = {}
        self.alternatives: dict[str, tuple[Alternative, ...]] = {}

    def copy(self) -> Configuration:
        """An independent copy. O(objects + open calls)."""
        copied = Configuration.__new__(Configuration)
        copied.become(self)
        copied.unsatisfied = self.unsatisfied.copy()
        copied.puts = self.puts.copy()
        copied.wide_writes = self.wide_writes.copy()
        copied.owed = self.owed.copy()
        copied.alternatives = self.alternatives.copy()
        return copied

    def alternatives_of(self, key: str) -> tuple[Alternative, ...]:
        """The alternatives of ``key``, at least one."""
        return self.alternatives.get(key) or ((self.cells.get(key, ABSENT), self.owed.get(key, NOTHING_OWED)),)

    def versions(self) -> Iterator[Version]:
        """All versions that may be in the store."""
        yield from self.cells.values()
        for _, version in self._undecided():
            yield version

    def open_writes(self) -> list[Write]:
        """The open writes that have not taken effect."""
        return [*self.puts, *self.wide_writes]

    def begin_wide(self, write: WideWrite) -> None:
        """Record the invocation of the wide write ``write``."""
        self.wide_writes[write] = write.is_seen or write.returned != NEVER

    def begin_put(self, write: Put) -> None:
        """Record the invocation of ``write``; it is owed if it is unseen and has a response."""
        self.puts[write] = None
        if write.version.seen_until != UNSEEN or write.returned == NEVER:
            return
        key = write.key
        if key in self.alternatives:
            self.alternatives[key] = tuple([(version, (*owed, write)) for version, owed in self.alternatives[key]])
        else:
            self.owed[key] = (*self.owed.get(key, NOTHING_OWED), write)

    def take(self, write: Write) -> None:
        """Let ``write`` take effect. Other open unseen writes of the same keys may have been hidden just before."""
        if isinstance(write, Put):
            self.take_put(write)
            return
        assert isinstance(write, WideWrite)
        del self.wide_writes[write]
        if isinstance(write, Replace):
            self.become(write.contents)
            self.owed.clear()
            self.alternatives.clear()
        else:
            for key, version in write.effect.items():
                self._set(key, version)
        for other in self.wide_writes:
            if not other.is_seen and other.is_covered_by(write):
                self.wide_writes[other] = False

    def take_put(self, write: Put) -> None:
        """Let ``write`` take effect, as :meth:`take`."""
        del self.puts[write]
        self._set(write.key, write.version)

    def _set(self, key: str, version: Version) -> None:
        if key in self.owed:
            del self.owed[key]
        if self.alternatives:
            self.alternatives.pop(key, None)
        self.store(key, version)

    def restrict(self, key: str, alternatives: tuple[Alternative, ...]) -> None:
        """Set the alternatives of ``key`` to ``alternatives``; there must be at least one."""
        present = self.cells.get(key, ABSENT)
        if present not in [version for version, _ in alternatives]:
            self.store(key, alternatives[0][0])
        if len(alternatives) > 1:
            self.owed.pop(key, None)
            self.alternatives[key] = alternatives
            return
        self.alternatives.pop(key, None)
        owed = next(owed for _, owed in alternatives)
        if owed:
            self.owed[key] = owed
        else:
            self.owed.pop(key, None)

    def require(self, version: Version) -> bool:
        """Require that a read that begins from now on returns ``version``.

        Returns:
            Whether that is possible: an open write writes the version, or an alternative has it. If it is possible,
            only the alternatives that agree with it are kept.
        """
        key = version.key
        if any(write.version is version for write in self.puts):
            return True
        for wide in self.wide_writes:
            if wide.at(key) is version:
                self.wide_writes[wide] = True
                return True
        possible = tuple([each for each in self.alternatives_of(key) if each[0] is version])
        if possible:
            self.restrict(key, possible)
        return bool(possible)

    def can_hide(self, write: Write) -> bool:
        """Whether the open unseen write ``write`` may have been hidden: it is not owed in some alternative."""
        if isinstance(write, Put):
            alternatives = self.alternatives.get(write.key)
            if alternatives is None:
                return write not in self.owed.get(write.key, NOTHING_OWED)
            return any(write not in owed for _, owed in alternatives)
        assert isinstance(write, WideWrite)
        return not self.wide_writes[write]

    def hide(self, write: Write) -> None:
        """Keep only the alternatives in which ``write`` has been hidden, and close it; there must be one."""
        if isinstance(write, Put):
            del self.puts[write]
            alternatives = self.alternatives.get(write.key)
            if alternatives is not None:
                self.restrict(write.key, tuple([each for each in alternatives if write not in each[1]]))
        else:
            assert isinstance(write, WideWrite)
            del self.wide_writes[write]

    def add_alternative(self, write: Put) -> None:
        """Record the response of ``write`` if both are possible: its version is present, or it has been hidden."""
        del self.puts[write]
        key, version = write.key, write.version
        alternatives = self.alternatives.get(key)
        if alternatives is not None:
            hidden = [each for each in alternatives if write not in each[1] and each[0] is not version]
            self.restrict(key, (*hidden, (version, NOTHING_OWED)))
            return
        present, owed = self.cells.get(key, ABSENT), self.owed.pop(key, NOTHING_OWED)
        if present is not version:
            self.alternatives[key] = ((present, owed), (version, NOTHING_OWED))

    def can_overwrite(self, write: Write, now: Time) -> bool:
        """Whether no version that ``write`` replaces is returned by a read that begins after ``now``."""
        cells = self.cells
        if isinstance(write, Put):
            return cells.get(write.key, ABSENT).seen_until <= now
        if isinstance(write, Replace):
            return max(map(_SEEN_UNTIL, cells.values()), default=UNSEEN) <= now
        assert isinstance(write, WideWrite)
        return all(cells.get(key, ABSENT).seen_until <= now for key in write.effect)

    def surely_holds(self, read: Read) -> bool:
        """Whether ``read`` returns its result for all alternatives."""
        if not read.holds(self):
            return False
        if not self.alternatives:
            return True
        for key in read.scope(self.alternatives):
            for version, _ in self.alternatives[key]:
                if not read.allows(key, version):
                    return False
        return not isinstance(read, ValuesRead) or all(self.surely_has(read.index, value) for value in read.values)

    def _undecided(self) -> Iterator[tuple[str, Version]]:
        for key, alternatives in self.alternatives.items():
            for version, _ in alternatives:
                yield key, version

    def surely_has(self, index: str, value: str) -> bool:
        """Whether some key has an object with the index value in all of its alternatives."""
        return any(
            all((index, value) in version.terms for version, _ in self.alternatives_of(key))
            for key in self.under((index, value))
        )
