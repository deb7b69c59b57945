"""A textbook Indexer: every call holds one re-entrant lock from its first look at the store to its last.

Correct. A call takes effect at any one moment while it holds the lock, because nobody else looks or writes meanwhile.
Most targets of this folder derive from it and override the steps that they do differently.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeAlias, TypeVar

from kcache import (
    Indexer,
    IndexerConflictError,
    Indexers,
    IndexersRunningError,
    IndexFuncError,
    IndexNotFoundError,
    KeyFunc,
    KeyFuncError,
    Semantics,
)

T = TypeVar("T")

Values: TypeAlias = dict[str, tuple[str, ...]]
"""Index name -> the distinct values of one object."""

Index: TypeAlias = dict[str, set[str]]
"""Index value -> the keys under it."""


def key_of(key_func: KeyFunc[T], obj: T) -> str:
    """The key of the object; any failure becomes a KeyFuncError."""
    try:
        key = key_func(obj)
    except Exception as error:
        raise KeyFuncError(obj, error) from error
    if not isinstance(key, str):
        raise KeyFuncError(obj, TypeError(f"a key must be a str, not a {type(key).__name__}"))
    return key


def values_of(key: str | None, obj: T, indexers: Indexers[T]) -> Values:
    """The values of the object under each index; any failure becomes an IndexFuncError."""
    values: Values = {}
    for name, func in indexers.items():
        try:
            returned = func(obj)
            found = () if returned is None else tuple(dict.fromkeys(returned))
            if isinstance(returned, str) or not all(isinstance(value, str) for value in found):
                raise TypeError(f"an index function must return a list of str, not {returned!r}")
        except Exception as error:
            raise IndexFuncError(key, name, error) from error
        values[name] = found
    return values


class TextbookIndexer(Generic[T]):
    """Objects by key, the values that each was indexed under, and for each index the keys by value."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        self._lock = threading.RLock()
        self._key_func = key_func
        self._semantics = Semantics(semantics)
        self._indexers: Indexers[T] = dict(indexers)
        self._items: dict[str, T] = {}
        self._values: dict[str, Values] = {}
        self._indices: dict[str, Index] = {name: {} for name in self._indexers}

    def add(self, obj: T, /) -> None:
        key = self._key_of(obj)
        with self._writing():
            self._put(key, obj, self._values_of(key, obj, self._indexers))

    def update(self, obj: T, /) -> None:
        self.add(obj)

    def delete(self, obj: T, /) -> None:
        key = self._key_of(obj)
        with self._writing():
            self._drop(key)

    def replace(self, objs: Iterable[T], _resource_version: str = "", /) -> None:
        items = {self._key_of(obj): obj for obj in objs}
        with self._writing():
            self._fill(items, {key: self._values_of(key, obj, self._indexers) for key, obj in items.items()})

    def resync(self) -> None:
        """Nothing to do."""

    def get(self, obj: T, default: Any = None) -> Any:
        return self.get_by_key(self._key_of(obj), default)

    def get_by_key(self, key: str, default: Any = None) -> Any:
        with self._reading():
            return self._items.get(key, default)

    def list(self) -> builtins.list[T]:
        with self._reading():
            return list(self._items.values())

    def list_keys(self) -> builtins.list[str]:
        with self._reading():
            return list(self._items)

    def index(self, index_name: str, obj: T, /) -> builtins.list[T]:
        with self._reading():
            index = self._existing(index_name)
            values = self._values_of(None, obj, {index_name: self._indexers[index_name]})[index_name]
            keys = set[str]().union(*(index.get(value, ()) for value in values))
            return [self._items[key] for key in sorted(keys)]

    def index_keys(self, index_name: str, index_value: str, /) -> builtins.list[str]:
        with self._reading():
            return sorted(self._keys_under(index_name, index_value))

    def by_index(self, index_name: str, index_value: str, /) -> builtins.list[T]:
        with self._reading():
            return [self._items[key] for key in sorted(self._keys_under(index_name, index_value))]

    def list_index_func_values(self, index_name: str, /) -> builtins.list[str]:
        with self._reading():
            return list(self._indices.get(index_name, {}))

    def get_indexers(self) -> Indexers[T]:
        with self._reading():
            return dict(self._indexers)

    def add_indexers(self, new_indexers: Indexers[T], /) -> None:
        added = dict(new_indexers)
        with self._writing():
            self._check_new(added)
            self._extend(added, {key: self._values_of(key, obj, added) for key, obj in self._items.items()})

    # The steps. Whoever calls one of these holds the lock; checks come first, so that nothing below this line fails.

    def _reading(self) -> AbstractContextManager[object]:
        return self._lock

    def _writing(self) -> AbstractContextManager[object]:
        return self._lock

    def _key_of(self, obj: T) -> str:
        return key_of(self._key_func, obj)

    def _values_of(self, key: str | None, obj: T, indexers: Indexers[T]) -> Values:
        return values_of(key, obj, indexers)

    def _existing(self, index_name: str) -> Index:
        if index_name not in self._indices:
            raise IndexNotFoundError(index_name)
        return self._indices[index_name]

    def _keys_under(self, index_name: str, index_value: str) -> set[str]:
        return self._existing(index_name).get(index_value, set())

    def _check_new(self, added: Indexers[T]) -> None:
        if self._items and self._semantics is Semantics.CLASSIC:
            raise IndexersRunningError
        if conflicts := added.keys() & self._indexers.keys():
            raise IndexerConflictError(conflicts)

    def _put(self, key: str, obj: T, values: Values) -> None:
        self._drop(key)
        self._items[key] = obj
        self._link(key, values)

    def _drop(self, key: str) -> None:
        self._items.pop(key, None)
        self._unlink(key)

    def _fill(self, items: dict[str, T], values: dict[str, Values]) -> None:
        self._items = items
        self._values = {}
        self._indices = {name: {} for name in self._indexers}
        for key in items:
            self._link(key, values[key])

    def _extend(self, added: Indexers[T], values: dict[str, Values]) -> None:
        self._indexers = {**self._indexers, **added}
        self._indices = {**self._indices, **{name: {} for name in added}}
        for key, more in values.items():
            self._link(key, {**self._values[key], **more})

    def _link(self, key: str, values: Values) -> None:
        """Remember the values of a key, and enter the key under each of them."""
        self._values[key] = values
        for name, index_values in values.items():
            for value in index_values:
                self._enter(self._indices[name], value, key)

    def _unlink(self, key: str) -> None:
        """Take the key out from under the values that it was entered under."""
        for name, index_values in self._values.pop(key, {}).items():
            for value in index_values:
                self._leave(self._indices[name], value, key)

    def _enter(self, index: Index, value: str, key: str) -> None:
        index.setdefault(value, set()).add(key)

    def _leave(self, index: Index, value: str, key: str) -> None:
        keys = index.get(value, set())
        keys.discard(key)
        if not keys:
            index.pop(value, None)


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return TextbookIndexer(key_func, indexers, semantics)
