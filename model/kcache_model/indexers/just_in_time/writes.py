"""Successful writes: the keys that each write sets, and their versions. Failed writes have no effect and do not appear.

A failed transaction is an exception: its entries that did not fail are a write.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ...history import Call
from .contents import ABSENT, UNSEEN, Contents, Event, Found, Version


class Write(Event):
    """A call that changes the contents."""

    __slots__ = ()

    def at(self, key: str) -> Version | None:
        """The version that it stores under ``key``; ``None`` if it does not set the key."""
        raise NotImplementedError

    @property
    def is_seen(self) -> bool:
        """Whether some known read returned a version of it.

        No read proves that an unseen write was in the store: it may be overwritten at the moment when it takes effect.
        """
        raise NotImplementedError

    def effects(self) -> Iterable[tuple[str, Version]]:
        """The pairs (key that it names, version that it stores there)."""
        raise NotImplementedError

    def versions(self) -> Collection[Version]:
        """The versions that it stores, without :data:`ABSENT`."""
        raise NotImplementedError

    def supplies(self, index: str, value: str) -> bool:
        """Whether a version that it stores has the index value."""
        raise NotImplementedError


class Put(Write):
    """A write that sets one key: ``add``, ``update``, and ``delete``, which sets it to :data:`ABSENT`."""

    __slots__ = ("key", "version")

    def __init__(self, position: int, call: Call, key: str, version: Version) -> None:
        Event.__init__(self, position, call)
        self.key = key
        self.version = version

    def at(self, key: str) -> Version | None:
        """See :class:`Write`."""
        return self.version if key == self.key else None

    @property
    def is_seen(self) -> bool:
        """See :class:`Write`."""
        return self.version.seen_until != UNSEEN

    def effects(self) -> Iterable[tuple[str, Version]]:
        """See :class:`Write`."""
        return ((self.key, self.version),)

    def versions(self) -> Collection[Version]:
        """See :class:`Write`."""
        return () if self.version is ABSENT else (self.version,)

    def supplies(self, index: str, value: str) -> bool:
        """See :class:`Write`."""
        return (index, value) in self.version.terms


class WideWrite(Write):
    """A write that sets several keys at one moment: ``transaction``, which leaves the other keys unchanged.

    Attributes:
        effect: key that is named -> version that is stored there.
    """

    __slots__ = ("effect",)

    def __init__(self, position: int, call: Call, effect: Found) -> None:
        Event.__init__(self, position, call)
        self.effect = effect

    def at(self, key: str) -> Version | None:
        """See :class:`Write`."""
        return self.effect.get(key)

    @property
    def is_seen(self) -> bool:
        """See :class:`Write`."""
        return any(version.seen_until != UNSEEN for version in self.effect.values())

    def effects(self) -> Iterable[tuple[str, Version]]:
        """See :class:`Write`."""
        return self.effect.items()

    def versions(self) -> Collection[Version]:
        """See :class:`Write`."""
        return [version for version in self.effect.values() if version is not ABSENT]

    def supplies(self, index: str, value: str) -> bool:
        """See :class:`Write`."""
        return any((index, value) in version.terms for version in self.effect.values())

    def overlaps(self, other: Write) -> bool:
        """Whether both writes set some key."""
        return any(other.at(key) is not None for key in self.effect)

    def is_covered_by(self, other: Write) -> bool:
        """Whether ``other`` sets all keys that it sets."""
        return all(other.at(key) is not None for key in self.effect)


class Replace(WideWrite):
    """``replace``: a write that sets all keys; the keys that it does not name are set to :data:`ABSENT`.

    Attributes:
        contents: the contents of the cache afterwards.
    """

    __slots__ = ("contents",)

    def __init__(self, position: int, call: Call, effect: Found, indexes: tuple[str, ...]) -> None:
        super().__init__(position, call, effect)
        self.contents = Contents(indexes)
        for key, version in effect.items():
            self.contents.store(key, version)

    def at(self, key: str) -> Version:
        """See :class:`Write`."""
        return self.effect.get(key, ABSENT)

    def overlaps(self, other: Write) -> bool:
        """See :class:`WideWrite`."""
        del other
        return True

    def is_covered_by(self, other: Write) -> bool:
        """See :class:`WideWrite`."""
        return isinstance(other, Replace)
