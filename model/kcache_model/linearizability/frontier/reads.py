"""Reads: what each one demands of the contents at the moment when it takes effect."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from .contents import ABSENT, NOTHING, Contents, Found, Term, Time, Version


class Selection:
    """Which objects a read looks at."""

    __slots__ = ()

    def of(self, contents: Contents) -> Found:
        """What is selected from ``contents``."""
        raise NotImplementedError

    def takes(self, version: Version) -> bool:
        """Whether ``version`` is selected."""
        raise NotImplementedError


class Everything(Selection):
    """All objects."""

    __slots__ = ()

    def of(self, contents: Contents) -> Found:
        """See :class:`Selection`."""
        return contents.cells

    def takes(self, version: Version) -> bool:
        """See :class:`Selection`."""
        return version is not ABSENT


class Under(Selection):
    """The objects under one value of an index."""

    __slots__ = ("_name", "_term", "_value")

    def __init__(self, term: Term) -> None:
        self._term = term
        self._name, self._value = term

    def of(self, contents: Contents) -> Found:
        """See :class:`Selection`."""
        return contents.index[self._name].get(self._value, NOTHING)

    def takes(self, version: Version) -> bool:
        """See :class:`Selection`."""
        return self._term in version.terms


class UnderAny(Selection):
    """The objects under at least one of several values of an index."""

    __slots__ = ("_terms",)

    def __init__(self, terms: tuple[Term, ...]) -> None:
        self._terms = terms

    def of(self, contents: Contents) -> Found:
        """See :class:`Selection`."""
        found: dict[str, Version] = {}
        for term in self._terms:
            found.update(contents.under(term))
        return found

    def takes(self, version: Version) -> bool:
        """See :class:`Selection`."""
        return any(term in version.terms for term in self._terms)


EVERYTHING: Final = Everything()


class Read:
    """A call that changes nothing, with the result that it gave.

    Attributes:
        position: which call of the history it is.
        invoked: when it began.
        returned: when it ended.
    """

    __slots__ = ("invoked", "position", "returned")

    def __init__(self, position: int, invoked: Time, returned: Time) -> None:
        self.position = position
        self.invoked = invoked
        self.returned = returned

    def holds(self, contents: Contents) -> bool:
        """Whether the read gives its result on ``contents``."""
        raise NotImplementedError

    def allows(self, key: str, version: Version) -> bool:
        """Whether ``version`` may be under ``key`` when the read takes effect.

        ``holds`` is the conjunction of this over all keys, but for :class:`ValuesRead`, where it is only necessary.
        """
        raise NotImplementedError

    def scope(self, keys: Collection[str]) -> Collection[str]:
        """Those of ``keys`` under which it may matter what there is: all others are allowed whatever they hold."""
        return keys

    def expected(self, key: str) -> Version | None:
        """The version that the read returned for ``key``, if it returned one."""
        del key
        return None

    def versions(self) -> Collection[Version]:
        """The versions that the read returned."""
        return ()

    def missing(self, contents: Contents) -> Sequence[Version]:
        """The versions that the read returned and that are not in ``contents``."""
        cells = contents.cells
        return [version for version in self.versions() if cells.get(version.key) is not version]

    def stray_key(self, contents: Contents) -> str | None:
        """A key under which ``contents`` have what the result rules out; ``None`` if there is none."""
        raise NotImplementedError


class Impossible(Read):
    """A call whose outcome nothing explains, whatever the contents."""

    __slots__ = ()

    def holds(self, contents: Contents) -> bool:
        """See :class:`Read`."""
        del contents
        return False

    def allows(self, key: str, version: Version) -> bool:
        """See :class:`Read`."""
        del key, version
        return True

    def stray_key(self, contents: Contents) -> None:
        """See :class:`Read`."""
        del contents


class Get(Read):
    """``get`` and ``get_by_key``."""

    __slots__ = ("key", "version")

    def __init__(self, position: int, invoked: Time, returned: Time, key: str, version: Version) -> None:
        Read.__init__(self, position, invoked, returned)
        self.key = key
        self.version = version

    def holds(self, contents: Contents) -> bool:
        """See :class:`Read`."""
        return contents.cells.get(self.key, ABSENT) is self.version

    def allows(self, key: str, version: Version) -> bool:
        """See :class:`Read`."""
        return self.key != key or self.version is version

    def scope(self, keys: Collection[str]) -> Collection[str]:
        """See :class:`Read`."""
        return (self.key,) if self.key in keys else ()

    def expected(self, key: str) -> Version | None:
        """See :class:`Read`."""
        return self.version if self.key == key and self.version is not ABSENT else None

    def versions(self) -> Collection[Version]:
        """See :class:`Read`."""
        return () if self.version is ABSENT else (self.version,)

    def stray_key(self, contents: Contents) -> str:
        """See :class:`Read`."""
        del contents
        return self.key


class ObjectsRead(Read):
    """``list``, ``by_index`` and ``index``: the selected objects."""

    __slots__ = ("_found", "selection")

    def __init__(self, position: int, invoked: Time, returned: Time, selection: Selection, found: Found) -> None:
        Read.__init__(self, position, invoked, returned)
        self.selection = selection
        self._found = found

    def holds(self, contents: Contents) -> bool:
        """See :class:`Read`."""
        return self.selection.of(contents) == self._found

    def allows(self, key: str, version: Version) -> bool:
        """See :class:`Read`."""
        found = self._found.get(key)
        return not self.selection.takes(version) if found is None else found is version

    def expected(self, key: str) -> Version | None:
        """See :class:`Read`."""
        return self._found.get(key)

    def versions(self) -> Collection[Version]:
        """See :class:`Read`."""
        return self._found.values()

    def stray_key(self, contents: Contents) -> str:
        """See :class:`Read`."""
        return next(key for key in self.selection.of(contents) if key not in self._found)


class KeysRead(Read):
    """``list_keys`` and ``index_keys``: the keys of the selected objects."""

    __slots__ = ("keys", "selection")

    def __init__(
        self, position: int, invoked: Time, returned: Time, selection: Selection, keys: frozenset[str]
    ) -> None:
        Read.__init__(self, position, invoked, returned)
        self.selection = selection
        self.keys = keys

    def holds(self, contents: Contents) -> bool:
        """See :class:`Read`."""
        return self.selection.of(contents).keys() == self.keys

    def allows(self, key: str, version: Version) -> bool:
        """See :class:`Read`."""
        return (key in self.keys) == self.selection.takes(version)

    def stray_key(self, contents: Contents) -> str:
        """See :class:`Read`."""
        return next(iter(self.selection.of(contents).keys() ^ self.keys))


class ValuesRead(Read):
    """``list_index_func_values``: the values of one index under which there is anything.

    It forbids each key all other values; that there is something under each of these is not a matter of one key.

    Attributes:
        index: the name of the index.
        values: what it returned.
    """

    __slots__ = ("index", "values")

    def __init__(self, position: int, invoked: Time, returned: Time, index: str, values: frozenset[str]) -> None:
        super().__init__(position, invoked, returned)
        self.index = index
        self.values = values

    def holds(self, contents: Contents) -> bool:
        """See :class:`Read`."""
        return contents.index[self.index].keys() == self.values

    def allows(self, key: str, version: Version) -> bool:
        """See :class:`Read`."""
        del key
        return all(value in self.values for name, value in version.terms if name == self.index)

    def stray_key(self, contents: Contents) -> str | None:
        """See :class:`Read`."""
        for value, found in contents.index[self.index].items():
            if value not in self.values:
                return next(iter(found))
        return None

    def missing_value(self, contents: Contents) -> str:
        """A value of the result under which ``contents`` have nothing."""
        return next(value for value in self.values if value not in contents.index[self.index])
