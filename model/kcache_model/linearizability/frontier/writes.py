"""Writes that succeed: which keys each one sets, and to what. Writes that fail have no effect and do not appear."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from .contents import ABSENT, NEVER, Contents, Found, Time, Version


class Write(ABC):
    """A call that changes the contents.

    Attributes:
        position: which call of the history it is.
        invoked: when it began.
        returned: when it ended; :data:`NEVER` for a pending call.
        is_seen: whether a read returned a version of it. An unseen write is nobody's witness: it may be overwritten
            in the instant in which it takes effect.
        is_wide: whether it sets several keys at once.
    """

    __slots__ = ("invoked", "is_seen", "position", "returned")

    is_wide: ClassVar[bool]

    def __init__(self, position: int, invoked: Time, returned: Time) -> None:
        self.position = position
        self.invoked = invoked
        self.returned = returned
        self.is_seen = False

    @property
    def is_pending(self) -> bool:
        """Whether it never returned, so that it may never take effect."""
        return self.returned == NEVER

    @abstractmethod
    def at(self, key: str) -> Version | None:
        """What it puts under ``key``; ``None`` if it leaves that key alone."""

    @abstractmethod
    def has_seen_version(self) -> bool:
        """Whether some read returned a version of it, as far as the versions themselves know."""

    @abstractmethod
    def supplies(self, index: str, value: str) -> bool:
        """Whether something that it writes is found under the index value."""


class Put(Write):
    """One key is set: ``add``, ``update``, and ``delete``, which sets it to :data:`ABSENT`."""

    __slots__ = ("key", "version")

    is_wide = False

    def __init__(self, position: int, invoked: Time, returned: Time, key: str, version: Version) -> None:
        super().__init__(position, invoked, returned)
        self.key = key
        self.version = version

    def at(self, key: str) -> Version | None:
        """See :class:`Write`."""
        return self.version if key == self.key else None

    def has_seen_version(self) -> bool:
        """See :class:`Write`."""
        return self.version.seen_until != -NEVER

    def supplies(self, index: str, value: str) -> bool:
        """See :class:`Write`."""
        return (index, value) in self.version.terms


class WideWrite(Write):
    """Several keys are set in one instant.

    Attributes:
        effect: what is put under each key that is named.
    """

    __slots__ = ("effect",)

    is_wide = True

    def __init__(self, position: int, invoked: Time, returned: Time, effect: Found) -> None:
        super().__init__(position, invoked, returned)
        self.effect = effect

    def at(self, key: str) -> Version | None:
        """See :class:`Write`."""
        return self.effect.get(key)

    def has_seen_version(self) -> bool:
        """See :class:`Write`."""
        return any(version.seen_until != -NEVER for version in self.effect.values())

    def supplies(self, index: str, value: str) -> bool:
        """See :class:`Write`."""
        return any((index, value) in version.terms for version in self.effect.values())

    def overlaps(self, other: Write) -> bool:
        """Whether some key is set by both."""
        return any(other.at(key) is not None for key in self.effect)

    def is_covered_by(self, other: Write) -> bool:
        """Whether nothing of it is left after ``other``."""
        return all(other.at(key) is not None for key in self.effect)


class Transaction(WideWrite):
    """``transaction``: several keys are set, the others stay as they are."""

    __slots__ = ()


class Replace(WideWrite):
    """``replace``: all keys are set, those that it does not name to :data:`ABSENT`.

    Attributes:
        contents: what the cache holds afterwards.
    """

    __slots__ = ("contents",)

    def __init__(
        self, position: int, invoked: Time, returned: Time, effect: Mapping[str, Version], indexes: tuple[str, ...]
    ) -> None:
        super().__init__(position, invoked, returned, effect)
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
