"""Facts: statements of the result of a read about one key or one index value; and the writes behind them."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..just_in_time.contents import ABSENT, Term, Version
from ..just_in_time.reads import Get, KeysRead, Read, ValuesRead
from ..just_in_time.writes import Replace, Write


class Writes:
    """Index of writes by the key that they set, and by version.

    Attributes:
        keys: all keys that any write names, sorted.
        versions: stamp -> version, for all versions that any write stores.
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
    """The version that ``write`` stores under ``key``; ``ABSENT`` if it removes the object. It must set the key."""
    version = write.at(key)
    assert version is not None
    return version


class FactKind(enum.Enum):
    """Kind of statement of a read."""

    RETURNED = enum.auto()
    """The read returned this version."""
    LACKED = enum.auto()
    """The read did not return the object, key or values that it looked for under this key."""
    HAD_KEY = enum.auto()
    """The read returned this key."""
    HAD_VALUE = enum.auto()
    """The read returned this index value."""


@dataclass(frozen=True, eq=False)
class Fact:
    """One statement of one read.

    Attributes:
        kind: determines which of the following fields is used.
        read: the read.
        key: the key of the statement; ``None`` for ``HAD_VALUE``.
        version: the version that was returned.
        term: the index value that was returned.
    """

    kind: FactKind
    read: Read
    key: str | None = None
    version: Version = ABSENT
    term: Term = ("", "")

    def allows(self, version: Version) -> bool:
        """Whether the fact is true if ``version`` is stored under the key, or under any key for ``HAD_VALUE``."""
        if self.kind is FactKind.HAD_VALUE:
            return self.term in version.terms
        return self.key is not None and self.read.allows(self.key, version)


def facts_of(read: Read, writes: Writes) -> Iterator[Fact]:
    """Yield all facts of a read; together they are equivalent to its result. O(keys in the history)."""
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
