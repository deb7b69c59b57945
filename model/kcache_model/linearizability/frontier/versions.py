"""The versions that results of reads are about."""

from __future__ import annotations

from collections.abc import Iterable

from .contents import Term, Time, Version
from .suitability import Unsuitable


class KnownVersions:
    """The versions that may be in the store, now or later.

    Attributes:
        by_stamp: finds them; always the same dict.
    """

    def __init__(self) -> None:
        self.by_stamp: dict[str, Version] = {}
        self._foreseen: dict[str, Version] = {}

    def keep(self, versions: Iterable[Version]) -> None:
        """Forget all others."""
        kept = {version.stamp: version for version in versions}
        self.by_stamp.clear()
        self.by_stamp.update(kept)

    def foresee(self, versions: Iterable[Version]) -> None:
        """These are the versions of writes to come: reads that are open may have returned them."""
        self._foreseen = {version.stamp: version for version in versions}

    def new(self, key: str, stamp: str, terms: tuple[Term, ...], written: Time, returned: Time) -> Version:
        """The version that a write puts under ``key``.

        Raises:
            Unsuitable: there is one with this stamp.
        """
        if stamp in self.by_stamp:
            raise Unsuitable(f"the stamp {stamp!r} is written twice")
        version = self._foreseen.pop(stamp, None) if self._foreseen else None
        if version is None:
            version = Version(key, stamp, terms, written, returned)
        self.by_stamp[stamp] = version
        return version
