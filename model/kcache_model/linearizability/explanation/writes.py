"""The writes of a history, by key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ..just_in_time.contents import Version
from ..just_in_time.writes import Put, Replace, Write


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
    version = write.version if isinstance(write, Put) else write.at(key)
    assert version is not None
    return version
