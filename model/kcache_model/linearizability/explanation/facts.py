"""Facts: what the result of a read says about one key, or about one index value."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from ..just_in_time.contents import ABSENT, Term, Version
from ..just_in_time.reads import Get, KeysRead, Read, ValuesRead
from .writes import Writes


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
    for version in sorted(read.versions(), key=lambda version: version.key):
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
