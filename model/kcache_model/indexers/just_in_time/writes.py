"""Writes that succeed: which keys each one sets, and to what. Writes that fail have no effect and do not appear."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ...history import Call
from .contents import ABSENT, UNSEEN, Contents, Event, Found, Version


class Write(Event):
    """A call that changes the contents."""

    __slots__ = ()

    def at(self, key: str) -> Version | None:
        """What it puts under ``key``; ``None`` if it leaves that key alone."""
        raise NotImplementedError

    @property
    def is_seen(self) -> bool:
        """Whether some read returned a version of it, as far as is known.

        An unseen write is nobody's witness: it may be overwritten in the instant in which it takes effect.
        """
        raise NotImplementedError

    def effects(self) -> Iterable[tuple[str, Version]]:
        """The keys that it names, and what it puts there."""
        raise NotImplementedError

    def versions(self) -> Collection[Version]:
        """The versions that it puts into the store."""
        raise NotImplementedError

    def supplies(self, index: str, value: str) -> bool:
        """Whether something that it writes is found under the index value."""
        raise NotImplementedError


class Put(Write):
    """One key is set: ``add``, ``update``, and ``delete``, which sets it to :data:`ABSENT`."""

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
    """Several keys are set in one instant: ``transaction``, which leaves the others as they are.

    Attributes:
        effect: what is put under each key that is named.
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
        """Whether some key is set by both."""
        return any(other.at(key) is not None for key in self.effect)

    def is_covered_by(self, other: Write) -> bool:
        """Whether nothing of it is left after ``other``."""
        return all(other.at(key) is not None for key in self.effect)


class Replace(WideWrite):
    """``replace``: all keys are set, those that it does not name to :data:`ABSENT`.

    Attributes:
        contents: what the cache holds afterwards.
    """

    __slots__ = ("contents",)

    def __init__(self, position: int, call: Call, effect: Found, indexes: tuple[str, ...]) -> None:
        super().__init__(position, call, effect)
        self.contents = Contents(indexes)
        for key, version in effect.items():
            self.contents.put(key, version)

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
