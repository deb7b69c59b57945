"""The reference store: a dict of objects with secondary indices (client-go ``threadSafeMap``).

Readers usually need no lock:

* A lookup copies one bucket. Copying a built-in dict with ``str`` keys is one atomic step, with and without the GIL
  (docs/pythons.md says why).
* Every write holds the lock and increments ``_writes`` before it changes anything. If a lookup finds the lock free, and
  the same count after copying, it has seen no partial write. Otherwise it is repeated under the lock.
* ``get`` reads one key of the dict of objects. Every write, also within a transaction, changes one key in one step.
  While a transaction changes several keys, ``_in_transaction`` makes new readers wait for the lock. (A reader that
  began earlier and sees the old value of a key can be ordered before the transaction.)

Index functions and all checks run before the lock is taken (in :meth:`~ThreadSafeMap.add_indexers`: before anything is
changed), so a failing write leaves the store unchanged. The store records the index values of each key and never calls
an index function for an old object again. So an object that was changed in place, or a function that is not
deterministic, leaves no stale entry behind.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar, overload

from . import index_buckets
from .errors import (
    IndexerConflictError,
    IndexersRunningError,
    IndexFuncError,
    IndexNotFoundError,
    InvalidObjectError,
    KcacheError,
    TransactionError,
)
from .index_buckets import Buckets
from .index_values import Functions, Placement, checked_indexers, checked_values, values_by_index
from .interfaces import Indexers, Semantics
from .metadata import written_resource_version
from .transaction import ThreadSafeStoreTransaction, TransactionType

T = TypeVar("T")
D = TypeVar("D")
R = TypeVar("R")


class ThreadSafeMap(Generic[T]):
    """A thread-safe map from keys to objects, with indices (client-go ``NewThreadSafeStore``).

    In the complexities below n is the number of objects, m the number of results, v the number of index values of an
    object. Index functions must not call the store from :meth:`add_indexers`; anywhere else they may.

    Args:
        indexers: index name -> index function; copied.
        semantics: decides whether :meth:`add_indexers` is allowed on a store that holds objects.

    Raises:
        InvalidIndexerError: an index function cannot be called.
    """

    def __init__(self, indexers: Indexers[T] | None = None, semantics: Semantics = Semantics.CLASSIC) -> None:
        self._lock = threading.Lock()
        self._semantics = semantics
        self._writes = 0
        self._in_transaction = False
        self._items: dict[str, T] = {}
        self._placements: dict[str, Placement] = {}
        self._functions: Functions[T] = tuple(checked_indexers(indexers).items())
        self._indices: dict[str, Buckets[T]] = {name: {} for name, _ in self._functions}
        self._tables = tuple(self._indices.values())  # each write iterates over them, in the order of _functions
        self._resource_version = ""

    @overload
    def get(self, key: str, /) -> T | None: ...
    @overload
    def get(self, key: str, default: D, /) -> T | D: ...
    def get(self, key: str, default: D | None = None, /) -> T | D | None:
        """The object stored under ``key``, or ``default``; O(1)."""
        if self._in_transaction:
            with self._lock:
                return self._items.get(key, default)
        return self._items.get(key, default)

    def list(self) -> builtins.list[T]:
        """All objects, in no particular order, as a new list; O(n)."""
        return self._consistent(lambda: list(self._items.values()))

    def list_keys(self) -> builtins.list[str]:
        """All keys, in no particular order, as a new list; O(n)."""
        return self._consistent(lambda: list(self._items))

    def by_index(self, index_name: str, index_value: str, /) -> builtins.list[T]:
        """The objects under ``index_value``, in no particular order; O(m).

        Raises:
            IndexNotFoundError: there is no such index.
        """
        objects = self._consistent(lambda: index_buckets.objects_under(self._indices, index_name, index_value))
        if objects is None:
            raise IndexNotFoundError(index_name)
        return objects

    def index_keys(self, index_name: str, index_value: str, /) -> builtins.list[str]:
        """The keys under ``index_value``, sorted; O(m log m).

        Raises:
            IndexNotFoundError: there is no such index.
        """
        keys = self._consistent(lambda: index_buckets.keys_under(self._indices, index_name, index_value))
        if keys is None:
            raise IndexNotFoundError(index_name)
        keys.sort()
        return keys

    def index(self, index_name: str, obj: T, /) -> builtins.list[T]:
        """The objects that share an index value with ``obj``, each once; O(m v). ``obj`` need not be stored.

        Raises:
            IndexNotFoundError: there is no such index.
            IndexFuncError: the index function did not return a list of ``str``.
            Exception: any error that the index function raises for ``obj``, unchanged.
        """
        func = dict(self._functions).get(index_name)
        if func is None:
            raise IndexNotFoundError(index_name)
        returned = func(obj)
        try:
            values = checked_values(returned)
        except TypeError as error:
            raise IndexFuncError(None, index_name, error) from error
        objects = self._consistent(lambda: index_buckets.objects_under_any(self._indices, index_name, values))
        if objects is None:
            raise IndexNotFoundError(index_name)
        return objects

    def list_index_func_values(self, index_name: str, /) -> builtins.list[str]:
        """The values of the index that have at least one object now; ``[]`` for an unknown index. O(values)."""
        return self._consistent(lambda: index_buckets.values_in_use(self._indices, index_name))

    def get_indexers(self) -> Indexers[T]:
        """A copy of the index functions by name."""
        return dict(self._functions)

    def last_sync_resource_version(self) -> str:
        """The resource version of the last written or deleted object, replacement or bookmark, unchanged."""
        with self._lock:
            return self._resource_version

    def add(self, key: str, obj: T, /) -> None:
        """Insert or replace the object under ``key``; O(v).

        Raises:
            InvalidObjectError: ``obj`` is ``None``.
            IndexFuncError: an index function failed for ``obj``; the store is unchanged.
        """
        if obj is None:
            raise InvalidObjectError(key)
        version = written_resource_version(obj)
        while True:
            functions = self._functions
            values = values_by_index(functions, key, obj)
            with self._lock:
                if functions is self._functions:
                    self._writes += 1
                    self._put(key, obj, values)
                    if version is not None:
                        self._resource_version = version
                    return

    update = add

    def delete(self, key: str, /) -> None:
        """Remove the object under ``key``; a missing key is no error. O(v)."""
        with self._lock:
            self._writes += 1
            self._drop(key)

    def delete_with_object(self, key: str, obj: T | None, /) -> None:
        """Remove the object under ``key``, and record the resource version of ``obj``, its state at the deletion."""
        version = written_resource_version(obj)
        with self._lock:
            self._writes += 1
            self._drop(key)
            if version is not None:
                self._resource_version = version

    def replace(self, items: Mapping[str, T], resource_version: str = "", /) -> None:
        """Make ``items`` the whole content, atomically; O(n v), but the lock is held only to exchange the dicts.

        Raises:
            InvalidObjectError: one of the objects is ``None``; the store is unchanged.
            IndexFuncError: an index function failed for one of them; the store is unchanged.
        """
        new_items = dict(items)
        for key, obj in new_items.items():
            if obj is None:
                raise InvalidObjectError(key)
        while True:
            functions = self._functions
            indices, placements = index_buckets.indexed(functions, new_items)
            with self._lock:
                if functions is self._functions:
                    self._writes += 1
                    # Freeing a large old content takes a while: keep it until the lock is released.
                    retired = self._items, self._placements, self._indices, self._tables
                    self._items, self._placements = new_items, placements
                    self._indices, self._tables = indices, tuple(indices.values())
                    self._resource_version = resource_version
                    break
        del retired

    def transaction(self, *transactions: ThreadSafeStoreTransaction[T]) -> None:
        """Apply the writes in order; readers see all of them or none.

        An entry that cannot be applied (no object, or an index function fails) is skipped.

        Raises:
            TransactionError: entries were skipped; the others were applied.
        """
        while True:
            functions = self._functions
            prepared: builtins.list[tuple[ThreadSafeStoreTransaction[T], Placement | None]] = []
            successful, errors = [], []
            for position, entry in enumerate(transactions):
                try:
                    prepared.append((entry, self._prepare(functions, entry)))
                    successful.append(position)
                except KcacheError as error:
                    errors.append(error)
            with self._lock:
                if functions is self._functions:
                    self._apply(prepared)
                    break
        if errors:
            raise TransactionError(len(transactions), successful, errors)

    def bookmark(self, resource_version: str, /) -> None:
        """Record that the source of the objects has reached ``resource_version``."""
        with self._lock:
            self._resource_version = resource_version

    def resync(self) -> None:
        """Do nothing: a map has no listeners."""

    def add_indexers(self, new_indexers: Indexers[T], /) -> None:
        """Add index functions, all of them or none; O(n v) if objects are stored already.

        Raises:
            IndexersRunningError: the store holds objects, and its semantics are classic.
            IndexerConflictError: an index with one of the names exists.
            InvalidIndexerError: an index function cannot be called.
            IndexFuncError: a function failed for a stored object.
        """
        added = checked_indexers(new_indexers)
        with self._lock:
            if self._items and self._semantics is Semantics.CLASSIC:
                raise IndexersRunningError
            conflicts = added.keys() & self._indices.keys()
            if conflicts:
                raise IndexerConflictError(conflicts)
            functions = tuple(added.items())
            indices, placements = index_buckets.indexed(functions, self._items)
            self._writes += 1
            self._placements = {key: self._placements[key] + values for key, values in placements.items()}
            self._indices = self._indices | indices
            self._tables = tuple(self._indices.values())
            self._functions += functions

    def _consistent(self, look: Callable[[], R]) -> R:
        """Return the result of ``look`` for a state between two writes; ``look`` may be called twice."""
        writes = self._writes
        if not self._lock.locked():
            result = look()
            if self._writes == writes:
                return result
        with self._lock:
            return look()

    def _put(self, key: str, obj: T, values: Placement) -> None:
        self._items[key] = obj
        old = self._placements.get(key)
        if old != values:
            if old is not None:
                index_buckets.remove(self._tables, old, key, values)
            self._placements[key] = values
        index_buckets.insert(self._tables, values, key, obj)

    def _drop(self, key: str) -> None:
        values = self._placements.pop(key, None)
        if values is not None:
            del self._items[key]
            index_buckets.remove(self._tables, values, key)

    @staticmethod
    def _prepare(functions: Functions[T], entry: ThreadSafeStoreTransaction[T]) -> Placement | None:
        """The index values that the entry's object will have; ``None`` for a delete."""
        kind = entry.type
        if (kind if type(kind) is TransactionType else TransactionType(kind)) is TransactionType.DELETE:
            return None
        if entry.obj is None:
            raise InvalidObjectError(entry.key)
        return values_by_index(functions, entry.key, entry.obj)

    def _apply(self, prepared: builtins.list[tuple[ThreadSafeStoreTransaction[T], Placement | None]]) -> None:
        self._in_transaction = True
        try:
            self._writes += 1
            # Readers can only ever see the last write of each key.
            for key, (entry, values) in {entry.key: (entry, values) for entry, values in prepared}.items():
                if values is None or entry.obj is None:
                    self._drop(key)
                else:
                    self._put(key, entry.obj, values)
            if prepared:
                version = written_resource_version(prepared[-1][0].obj)
                if version is not None:
                    self._resource_version = version
        finally:
            self._in_transaction = False
