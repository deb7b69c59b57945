"""Reads: the conditions of each read on the contents at the moment when it takes effect."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...history import Call
from .contents import ABSENT, NOTHING, Contents, Event, Found, Term, Version


class Selection:
    """Selection of the objects that a read looks at.

    Args:
        terms: select the objects with at least one of these index values; ``None`` for all objects.
    """

    __slots__ = ("_more", "_name", "_terms", "_value")

    def __init__(self, terms: tuple[Term, ...] | None) -> None:
        self._terms = terms
        self._name, self._value = terms[0] if terms else ("", "")
        self._more = terms[1:] if terms else ()

    def of(self, contents: Contents) -> Found:
        """The versions that are selected from ``contents``."""
        if self._terms is None:
            return contents.cells
        versions = contents.index[self._name].get(self._value, NOTHING)
        if self._more:
            versions = versions.copy()
            for term in self._more:
                versions.update(contents.under(term))
        return versions

    def takes(self, version: Version) -> bool:
        """Whether ``version`` is selected."""
        if self._terms is None:
            return version is not ABSENT
        if not self._more:
            return (self._name, self._value) in version.terms
        return any(term in version.terms for term in self._terms)


class Read(Event):
    """A call that changes nothing, with its result.

    Attributes:
        versions: the versions that it returned.
    """

    __slots__ = ()

    versions: Collection[Version] = ()

    def holds(self, contents: Contents) -> bool:
        """Whether the read returns its result on ``contents``."""
        raise NotImplementedError

    def allows(self, key: str, version: Version) -> bool:
        """Whether ``version`` may be under ``key`` when the read takes effect.

        ``holds`` is true if and only if ``allows`` is true for all keys; for :class:`ValuesRead`, this condition is
        necessary, but not sufficient.
        """
        raise NotImplementedError

    def scope(self, keys: Collection[str]) -> Collection[str]:
        """The keys among ``keys`` that the read depends on; all versions are allowed under the other keys."""
        return keys

    def expected(self, key: str) -> Version | None:
        """The version that the read returned for ``key``, if it returned one."""
        del key
        return None

    def missing(self, contents: Contents) -> Sequence[Version]:
        """The versions that the read returned and that are not in ``contents``."""
        cells = contents.cells
        return [version for version in self.versions if cells.get(version.key) is not version]

    def stray_key(self, contents: Contents) -> str | None:
        """A key under which ``contents`` have a version that the result excludes; ``None`` if there is none."""
        del contents
        return None


class Impossible(Read):
    """A call whose outcome is impossible for all contents."""

    __slots__ = ()

    def holds(self, contents: Contents) -> bool:
        """See :class:`Read`."""
        del contents
        return False

    def allows(self, key: str, version: Version) -> bool:
        """See :class:`Read`."""
        del key, version
        return True


class Get(Read):
    """``get`` and ``get_by_key``."""

    __slots__ = ("key", "version", "versions")

    def __init__(self, position: int, call: Call, key: str, version: Version) -> None:
        Event.__init__(self, position, call)
        self.key = key
        self.version = version
        self.versions = () if version is ABSENT else (version,)

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

    def stray_key(self, contents: Contents) -> str:
        """See :class:`Read`."""
        del contents
        return self.key


class ObjectsRead(Read):
    """``list``, ``by_index`` and ``index``: the selected objects."""

    __slots__ = ("_selected", "selection", "versions")

    def __init__(self, position: int, call: Call, selection: Selection, versions: Found) -> None:
        Event.__init__(self, position, call)
        self.selection = selection
        self._selected = versions
        self.versions = versions.values()

    def holds(self, contents: Contents) -> bool:
        """See :class:`Read`."""
        return self.selection.of(contents) == self._selected

    def allows(self, key: str, version: Version) -> bool:
        """See :class:`Read`."""
        selected = self._selected.get(key)
        return not self.selection.takes(version) if selected is None else selected is version

    def expected(self, key: str) -> Version | None:
        """See :class:`Read`."""
        return self._selected.get(key)

    def stray_key(self, contents: Contents) -> str:
        """See :class:`Read`."""
        return next(key for key in self.selection.of(contents) if key not in self._selected)


class KeysRead(Read):
    """``list_keys`` and ``index_keys``: the keys of the selected objects."""

    __slots__ = ("keys", "selection")

    def __init__(self, position: int, call: Call, selection: Selection, keys: frozenset[str]) -> None:
        Event.__init__(self, position, call)
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
    """``list_index_func_values``: the values of one index that any object has.

    ``allows`` excludes versions with other values. That each value has an object is no condition on a single key.

    Attributes:
        index: the name of the index.
        values: the values that it returned.
    """

    __slots__ = ("index", "values")

    def __init__(self, position: int, call: Call, index: str, values: frozenset[str]) -> None:
        Event.__init__(self, position, call)
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
        for value, keys in contents.index[self.index].items():
            if value not in self.values:
                return next(iter(keys))
        return None

    def missing_value(self, contents: Contents) -> str:
        """A value of the result that no object in ``contents`` has; there must be one."""
        return next(value for value in self.values if value not in contents.index[self.index])
