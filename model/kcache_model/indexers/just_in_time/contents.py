"""Contents of a cache: under each key one version of an object, and the index over them; and calls in its time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...history import Call

Time = float
"""A tick of the clock of the history, or :data:`NEVER`."""

NEVER: Final[Time] = float("inf")
"""When a pending call returns."""

UNSEEN: Final[Time] = -NEVER
"""When a version was returned that no read returned, as far as is known."""

Term = tuple[str, str]
"""The name of an index, and a value in it."""


class Event:
    """A call that takes effect at one moment.

    Attributes:
        position: which call of the history it is.
        invoked: when it began.
        returned: when it ended; :data:`NEVER` for a pending call.
    """

    __slots__ = ("invoked", "position", "returned")

    def __init__(self, position: int, call: Call) -> None:
        self.position = position
        self.invoked: Time = call.invoked
        self.returned: Time = NEVER if call.returned is None else call.returned


class Version:
    """One version of one object: what one write puts under one key.

    Attributes:
        key: where it is stored.
        stamp: its name in the results of reads.
        terms: the index values under which it is found, each once.
        written: when the write of it was invoked.
        seen_until: when the last read that returned it was invoked, as far as is known: it is in place at some time
            after that; :data:`UNSEEN` if there is none.
        due: when it must have been in place at the latest: the first response among those of its own write and of the
            reads that returned it.
        mark: a number that stands for it in the hash of the contents.
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
"""What is under a key where there is no object."""
ABSENT.mark = 0

Found = Mapping[str, Version]
"""Key -> the version that is found there."""

NOTHING: Final[dict[str, Version]] = {}
"""What is found where there is nothing."""


class Contents:
    """The objects of a cache and the index over them, kept up to date with each write.

    Attributes:
        cells: key -> the version stored there; keys without an object are missing.
        index: index name -> value -> what is found there; values under which there is nothing are missing.
        mark: equal for equal contents; different contents rarely have the same.
    """

    __slots__ = ("cells", "index", "mark")

    def __init__(self, indexes: tuple[str, ...]) -> None:
        self.cells: dict[str, Version] = {}
        self.index: dict[str, dict[str, dict[str, Version]]] = {name: {} for name in indexes}
        self.mark = 0

    def put(self, key: str, version: Version) -> None:
        """Store ``version`` under ``key``; :data:`ABSENT` deletes what is there. O(values of both versions)."""
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
            found = values[value]
            if len(found) == 1:
                del values[value]
            else:
                del found[key]
        for name, value in version.terms:
            values = index[name]
            if value in values:
                values[value][key] = version
            else:
                values[value] = {key: version}

    def under(self, term: Term) -> dict[str, Version]:
        """What an index lookup finds."""
        return self.index[term[0]].get(term[1], NOTHING)

    def become(self, other: Contents) -> None:
        """Take over a copy of what ``other`` holds. O(number of objects)."""
        self.cells = other.cells.copy()
        self.index = {
            name: {value: found.copy() for value, found in values.items()} for name, values in other.index.items()
        }
        self.mark = other.mark
