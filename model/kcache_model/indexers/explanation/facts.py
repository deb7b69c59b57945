"""Facts: what the result of a read says about one key, or about one index value; and the writes it may be about."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..just_in_time.contents import ABSENT, Term, Version
from ..just_in_time.reads import Get, KeysRead, Read, ValuesRead
from ..just_in_time.writes import Replace, Write


class Writes:
    """Finds the writes that set a key, and the write of a version.

    Attributes:
        keys: all keys that are ever named, sorted.
        versions: all versions that are ever written, by stamp.
    """

    def __init__(self, writes: Iterable[Write]) -> None:
        self._of_key: defaultdict[str, list[Write]] = defaultdict(list)
        self._replaces: list[Replace] = []
        self._of_version: dict[Version, Write] = {}
        for write in writes:
            if isinstance(write, Replace):
                self._replaces.append(write)
            for key, _ in write.effects():
                if not isinstance(write, Replace):
                    self._of_key[key].append(write)
                else:
                    self._of_key.setdefault(key, [])
            for version in write.versions():
                self._of_version[version] = write
        self.keys = sorted(self._of_key)
        self.versions = {version.stamp: version for version in self._of_version}

    def of_key(self, key: str) -> list[Write]:
        """All writes that set ``key``; a ``replace`` sets every key."""
        return [*self._of_key.get(key, ()), *self._replaces]

    def of_version(self, version: Version) -> Write:
        """The write that put ``version`` into the store."""
        return self._of_version[version]


def put_by(write: Write, key: str) -> Version:
    """What ``write``, which sets ``key``, puts there."""
    version = write.at(key)
    assert version is not None
    return version


class FactKind(enum.Enum):
    """What a read said."""

    RETURNED = enum.auto()
    """It returned this version."""
    LACKED = enum.auto()
    """It did not return what it looked for under this key."""
    HAD_KEY = enum.auto()
    """It returned this key."""
    HAD_VALUE = enum.auto()
    """It returned this index value."""


@dataclass(frozen=True, eq=False)
class Fact:
    """One thing that one read said.

    Attributes:
        kind: which of the following fields counts.
        read: the read.
        key: the key that it is about; ``None`` for ``HAD_VALUE``.
        version: the version that was returned.
        term: the index value that was returned.
    """

    kind: FactKind
    read: Read
    key: str | None = None
    version: Version = ABSENT
    term: Term = ("", "")

    def allows(self, version: Version) -> bool:
        """Whether the read may have found ``version``, where it looked."""
        if self.kind is FactKind.HAD_VALUE:
            return self.term in version.terms
        return self.key is not None and self.read.allows(self.key, version)


def facts_of(read: Read, writes: Writes) -> Iterator[Fact]:
    """All facts of a read; together they say all that its result says. O(keys in the history)."""
    if isinstance(read, Get):
        if read.version is ABSENT:
            yield Fact(FactKind.LACKED, read, read.key)
        else:
            yield Fact(FactKind.RETURNED, read, read.key, read.version)
        return
    if isinstance(read, ValuesRead):
        for value in sorted(read.values):
            yield Fact(FactKind.HAD_VALUE, read, term=(read.index, value))
    for version in sorted(read.versions, key=lambda version: version.key):
        yield Fact(FactKind.RETURNED, read, version.key, version)
    had = read.keys if isinstance(read, KeysRead) else frozenset()
    for key in sorted(had):
        yield Fact(FactKind.HAD_KEY, read, key)
    for key in writes.keys:
        if key not in had and read.expected(key) is None:
            yield Fact(FactKind.LACKED, read, key)


def shows(read: Read, version: Version) -> bool:
    """Whether a read of keys or of values may have seen ``version``."""
    if isinstance(read, KeysRead):
        return version.key in read.keys and read.allows(version.key, version)
    if isinstance(read, ValuesRead):
        return any(name == read.index and value in read.values for name, value in version.terms)
    return False
