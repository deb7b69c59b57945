"""Translation of calls that change nothing into reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...history import Call
from ...outcomes import Outcome, Value
from ..operations import WRITES, Operation, OperationName
from .contents import ABSENT, NEVER, Found, Time, Version
from .known import KnownStore
from .reads import Get, Impossible, KeysRead, ObjectsRead, Read, Selection, ValuesRead

_What = tuple[str | None, tuple[str, ...] | None]
"""An index name and the values that are looked up in it; ``None`` for all objects."""


class ReadTranslation:
    """Translation of reads; see :data:`READERS`.

    Results of one selection often repeat: the last result of each selection is cached with its translation.

    Args:
        store: the known indices and versions of the store.
    """

    def __init__(self, store: KnownStore) -> None:
        self._indexes = frozenset(store.indexes)
        self._known = store.by_stamp
        self._constant = store.constant
        self._lookups: dict[_What, _Lookup] = {}

    def forget(self) -> None:
        """Clear the cache: it takes memory, and its translations may have become wrong."""
        self._lookups = {}

    def _get(self, position: int, call: Call, outcome: Outcome) -> Read | None:
        operation, value = call.operation, outcome.value
        key = operation.key or "" if operation.item is None else operation.item.key
        if key is None:
            return self._constant(position, call)
        version = ABSENT if value is None else self._known.get(value) if isinstance(value, str) else None
        if version is None or outcome.error is not None:
            return Impossible(position, call)
        read = Get(position, call, key, version)
        if version is not ABSENT and (version.key != key or version.written > read.returned):
            return Impossible(position, call)
        return read

    def _objects(self, position: int, call: Call, outcome: Outcome) -> Read | None:
        lookup = self._lookup(call.operation)
        if lookup is None:
            return self._constant(position, call)
        versions = lookup.objects(outcome.value, self._known)
        if versions is None or outcome.error is not None:
            return Impossible(position, call)
        read = ObjectsRead(position, call, lookup.selection, versions)
        return read if lookup.written <= read.returned else Impossible(position, call)

    def _keys(self, position: int, call: Call, outcome: Outcome) -> Read | None:
        lookup = self._lookup(call.operation)
        if lookup is None:
            return self._constant(position, call)
        keys = lookup.keys(outcome.value)
        if keys is None or outcome.error is not None:
            return Impossible(position, call)
        return KeysRead(position, call, lookup.selection, keys)

    def _values(self, position: int, call: Call, outcome: Outcome) -> Read | None:
        index = call.operation.index
        if index not in self._indexes:
            return self._constant(position, call)
        values = _distinct(outcome.value)
        if values is None or outcome.error is not None:
            return Impossible(position, call)
        return ValuesRead(position, call, index, values)

    def _nothing(self, position: int, call: Call, outcome: Outcome) -> Impossible | None:
        del outcome
        return self._constant(position, call)

    def _lookup(self, operation: Operation) -> _Lookup | None:
        """The cache entry of the selection; ``None`` if the call does not depend on the contents."""
        index, item = operation.index, operation.item
        values: tuple[str, ...] | None = None
        if index is not None:
            values = (operation.value or "",) if item is None else item.values.get(index, ())
            if not values or index not in self._indexes:
                return None
        lookup = self._lookups.get((index, values))
        if lookup is None:
            terms = None if index is None or values is None else tuple([(index, value) for value in values])
            lookup = self._lookups[index, values] = _Lookup(Selection(terms))
        return lookup


class _Lookup:
    """One selection with its last results.

    Attributes:
        selection: the selection of objects.
        written: the time of the last invocation among the writes of the last objects that :meth:`objects` returned.
    """

    __slots__ = ("_keys", "_listed", "_stamps", "_versions", "selection", "written")

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self.written: Time = -NEVER
        self._stamps: Value = ()
        self._versions: Found = {}
        self._listed: Value = ()
        self._keys: frozenset[str] = frozenset()

    def objects(self, stamps: Value, known: Found) -> Found | None:
        """Key -> version with one of these stamps; ``None`` if no store returns this list.

        That is: it is no tuple, is not sorted, repeats a key, or has a stamp that is unknown or not selected.
        """
        if stamps == self._stamps:
            return self._versions
        if not isinstance(stamps, tuple):
            return None
        versions: dict[str, Version] = {}
        written, takes = -NEVER, self.selection.takes
        for stamp in stamps:
            version = known.get(stamp)
            if version is None or not takes(version):
                return None
            versions[version.key] = version
            if version.written > written:
                written = version.written
        if len(versions) < len(stamps) or list(stamps) != sorted(stamps):
            return None
        self.written, self._stamps, self._versions = written, stamps, versions
        return versions

    def keys(self, keys: Value) -> frozenset[str] | None:
        """``keys`` as a set; ``None`` if they are not sorted or not distinct."""
        if keys == self._listed:
            return self._keys
        distinct = _distinct(keys)
        if distinct is not None:
            self._listed, self._keys = keys, distinct
        return distinct


def _distinct(value: Value) -> frozenset[str] | None:
    """The returned value as a set; ``None`` if it is no tuple, is not sorted, or has duplicates."""
    if not isinstance(value, tuple):
        return None
    distinct = frozenset(value)
    return distinct if len(distinct) == len(value) and list(value) == sorted(value) else None


READERS: Final[dict[OperationName, Callable[[ReadTranslation, int, Call, Outcome], Read | None]]] = {
    **dict.fromkeys(set(OperationName) - WRITES, ReadTranslation._nothing),
    OperationName.GET_BY_KEY: ReadTranslation._get,
    OperationName.GET: ReadTranslation._get,
    OperationName.LIST: ReadTranslation._objects,
    OperationName.BY_INDEX: ReadTranslation._objects,
    OperationName.INDEX: ReadTranslation._objects,
    OperationName.LIST_KEYS: ReadTranslation._keys,
    OperationName.INDEX_KEYS: ReadTranslation._keys,
    OperationName.LIST_INDEX_FUNC_VALUES: ReadTranslation._values,
}
"""Operation that changes nothing -> its translation, which returns ``None`` if the result holds in all states."""
