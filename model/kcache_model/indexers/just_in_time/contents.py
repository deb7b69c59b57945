"""Contents of a cache: one version of an object under each key, and the index; and calls with their times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...history import Call

Time = float
"""A tick of the clock of the history, or :data:`NEVER`."""

NEVER: Final[Time] = float("inf")
"""Response time of a pending call."""

UNSEEN: Final[Time] = -NEVER
"""Value of :attr:`Version.seen_until` if no known read returned the version."""

Term = tuple[str, str]
"""The name of an index, and an index value."""


class Event:
    """A call that takes effect at one moment.

    Attributes:
        position: the position of the call in the history.
        invoked: the time of its invocation.
        returned: the time of its response; :data:`NEVER` for a pending call.
    """

    __slots__ = ("invoked", "position", "returned")

    def __init__(self, position: int, call: Call) -> None:
        self.position = position
        self.invoked: Time = call.invoked
        self.returned: Time = NEVER if call.returned is None else call.returned


class Version:
    """One version of one object: the object that one write stores under one key.

    Attributes:
        key: the key under which it is stored.
        stamp: its name in the results of reads.
        terms: its index values, each once.
        written: the time of the invocation of its write.
        seen_until: the time of the invocation of the last known read that returned it; it is in the store at some time
            after that. :data:`UNSEEN` if there is no such read.
        due: the time by which it must have been in the store: the first response among its own write and the reads
            that returned it.
        mark: its hash, for the hash of the contents.
    """

    __slots__ = ("due", "key", "mark", "seen_until", "stamp", "terms", "written")

    def __init__(self, key: str, stamp: str, terms: tuple[Term, ...], written: Time, due: Time) -> None:
        self.key = key
        self.stamp = stamp
        self.terms = terms
        self.written = written
        self.due = due
        self.seen_until = UNSEEN
        self.mark = hash(stamp)


ABSENT: Final = Version("", "", (), -NEVER, -NEVER)
"""The version under a key without an object."""
ABSENT.mark = 0

Found = Mapping[str, Version]
"""Key -> the version under it."""

NOTHING: Final[dict[str, Version]] = {}
"""The result of a lookup without matches."""


class Contents:
    """The objects of a cache and the index over them, kept up to date with each write.

    Attributes:
        cells: key -> the version stored there; keys without an object are missing.
        index: index name -> value -> key -> version; values without objects are missing.
        mark: a hash of the contents: equal for equal contents, rarely equal for different contents.
    """

    __slots__ = ("cells", "index", "mark")

    def __init__(self, indexes: tuple[str, ...]) -> None:
        self.cells: dict[str, Version] = {}
        self.index: dict[str, dict[str, dict[str, Version]]] = {name: {} for name in indexes}
        self.mark = 0

    def store(self, key: str, version: Version) -> None:
        """Store ``version`` under ``key``; :data:`ABSENT` deletes the object. O(values of both versions)."""
        cells = self.cells
        old = cells.get(key, ABSENT)
        if version is not ABSENT:
            cells[key] = version
        elif old is not ABSENT:
            del cells[key]
        else:
            return
        self.mark ^= old.mark ^ version.mark
        index = self.index
        for name, value in old.terms:
            values = index[name]
            keys = values[value]
            if len(keys) == 1:
                del values[value]
            else:
                del keys[key]
        for name, value in version.terms:
            values = index[name]
            if value in values:
                values[value][key] = version
            else:
                values[value] = {key: version}

    def under(self, term: Term) -> dict[str, Version]:
        """The result of an index lookup."""
        return self.index[term[0]].get(term[1], NOTHING)

    def become(self, other: Contents) -> None:
        """Replace the contents by a copy of the contents of ``other``. O(number of objects)."""
        self.cells = other.cells.copy()
        self.index = {
            name: {value: keys.copy() for value, keys in values.items()} for name, values in other.index.items()
        }
        self.mark = other.mark
