"""From calls that change nothing to reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...history import Call
from ...indexers.operations import WRITES, Operation, OperationName
from ...outcomes import Outcome, Value
from .constants import Constants
from .contents import ABSENT, NEVER, Found, Time, Version
from .reads import EVERYTHING, Get, Impossible, KeysRead, ObjectsRead, Read, Selection, Under, UnderAny, ValuesRead
from .versions import KnownVersions

_What = tuple[str, str | tuple[str, ...]] | None
"""An index and what is looked up there; ``None`` for everything."""


class ReadTranslation:
    """Translates reads; see :data:`READERS`.

    Results of one selection repeat: the last ones are remembered with their translations.

    Args:
        indexes: the names of the indices of the store, each once.
        versions: what results may be about.
        constants: for calls that do not depend on the contents.
    """

    def __init__(self, indexes: tuple[str, ...], versions: KnownVersions, constants: Constants) -> None:
        self._indexes = frozenset(indexes)
        self._known = versions.by_stamp
        self._constants = constants
        self._lookups: dict[_What, _Lookup] = {None: _Lookup(EVERYTHING)}

    def forget(self) -> None:
        """Free the memory of what can be found out again, which may have become wrong."""
        self._lookups = {None: _Lookup(EVERYTHING)}

    def _get_by_key(self, position: int, call: Call, outcome: Outcome) -> Read:
        return self._get(position, call, outcome, call.operation.key or "")

    def _get_item(self, position: int, call: Call, outcome: Outcome) -> Read | None:
        item = call.operation.item
        assert item is not None, "get needs an item"
        if item.key is None:
            return self._constants.translate(position, call)
        return self._get(position, call, outcome, item.key)

    def _get(self, position: int, call: Call, outcome: Outcome, key: str) -> Read:
        returned = NEVER if call.returned is None else call.returned
        value = outcome.value
        if value is None:
            version: Version | None = ABSENT
        else:
            version = self._known.get(value) if isinstance(value, str) else None
            if version is not None and (version.key != key or version.written > returned):
                version = None
        if version is None or outcome.error is not None:
            return Impossible(position, call.invoked, returned)
        return Get(position, call.invoked, returned, key, version)

    def _objects(self, position: int, call: Call, outcome: Outcome) -> Read | None:
        lookup = self._lookup(call.operation)
        if lookup is None:
            return self._constants.translate(position, call)
        returned = NEVER if call.returned is None else call.returned
        found = lookup.objects(outcome.value, self._known)
        if found is None or lookup.written > returned or outcome.error is not None:
            return Impossible(position, call.invoked, returned)
        return ObjectsRead(position, call.invoked, returned, lookup.selection, found)

    def _keys(self, position: int, call: Call, outcome: Outcome) -> Read | None:
        lookup = self._lookup(call.operation)
        if lookup is None:
            return self._constants.translate(position, call)
        returned = NEVER if call.returned is None else call.returned
        keys = lookup.keys(outcome.value)
        if keys is None or outcome.error is not None:
            return Impossible(position, call.invoked, returned)
        return KeysRead(position, call.invoked, returned, lookup.selection, keys)

    def _values(self, position: int, call: Call, outcome: Outcome) -> Read | None:
        index = call.operation.index
        if index not in self._indexes:
            return self._constants.translate(position, call)
        returned = NEVER if call.returned is None else call.returned
        values = _distinct(outcome.value)
        if values is None or outcome.error is not None:
            return Impossible(position, call.invoked, returned)
        return ValuesRead(position, call.invoked, returned, index, values)

    def _constant(self, position: int, call: Call, outcome: Outcome) -> Impossible | None:
        del outcome
        return self._constants.translate(position, call)

    def _lookup(self, operation: Operation) -> _Lookup | None:
        """What is remembered of the selection; ``None`` if the call does not depend on the contents."""
        index, item = operation.index, operation.item
        if index is None:
            return self._lookups[None]
        if item is None:
            value = operation.value or ""
            found = self._lookups.get((index, value))
            if found is None and index in self._indexes:
                found = self._lookups[index, value] = _Lookup(Under((index, value)))
            return found
        values = item.values.get(index, ())
        if not values or index not in self._indexes:
            return None
        found = self._lookups.get((index, values))
        if found is None:
            found = self._lookups[index, values] = _Lookup(UnderAny(tuple([(index, value) for value in values])))
        return found


class _Lookup:
    """One selection with the results that it gave last.

    Attributes:
        selection: which objects are selected.
        written: when the write of the newest object was invoked in what :meth:`objects` found last.
    """

    __slots__ = ("_found", "_keys", "_listed", "_stamps", "selection", "written")

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self.written: Time = -NEVER
        self._stamps: Value = ()
        self._found: Found = {}
        self._listed: Value = ()
        self._keys: frozenset[str] = frozenset()

    def objects(self, stamps: Value, known: Found) -> Found | None:
        """The objects with these stamps by key; ``None`` if no store gives that, sorted and each object once."""
        if stamps == self._stamps:
            return self._found
        if not isinstance(stamps, tuple):
            return None
        found: dict[str, Version] = {}
        written, takes = -NEVER, self.selection.takes
        for stamp in stamps:
            version = known.get(stamp)
            if version is None or not takes(version):
                return None
            found[version.key] = version
            if version.written > written:
                written = version.written
        if len(found) < len(stamps) or list(stamps) != sorted(stamps):
            return None
        self.written, self._stamps, self._found = written, stamps, found
        return found

    def keys(self, keys: Value) -> frozenset[str] | None:
        """``keys`` as a set; ``None`` if they are not sorted or not distinct."""
        if keys == self._listed:
            return self._keys
        found = _distinct(keys)
        if found is not None:
            self._listed, self._keys = keys, found
        return found


def _distinct(value: Value) -> frozenset[str] | None:
    """What a call returned, if it is sorted and each is there once, as it must be."""
    if not isinstance(value, tuple):
        return None
    distinct = frozenset(value)
    return distinct if len(distinct) == len(value) and list(value) == sorted(value) else None


READERS: Final[dict[OperationName, Callable[[ReadTranslation, int, Call, Outcome], Read | None]]] = {
    **dict.fromkeys(set(OperationName) - WRITES, ReadTranslation._constant),
    OperationName.GET_BY_KEY: ReadTranslation._get_by_key,
    OperationName.GET: ReadTranslation._get_item,
    OperationName.LIST: ReadTranslation._objects,
    OperationName.BY_INDEX: ReadTranslation._objects,
    OperationName.INDEX: ReadTranslation._objects,
    OperationName.LIST_KEYS: ReadTranslation._keys,
    OperationName.INDEX_KEYS: ReadTranslation._keys,
    OperationName.LIST_INDEX_FUNC_VALUES: ReadTranslation._values,
}
"""What translates each kind of call that changes nothing; ``None`` for one that says nothing."""
