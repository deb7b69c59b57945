"""Stores that compute the keys of objects (client-go ``store.go``): :class:`Cache` and its factories."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Generic, TypeVar, overload

from .errors import KcacheError, KeyFuncError, TransactionError, TransformError
from .interfaces import Indexers, KeyFunc, Semantics, ThreadSafeStore, Transformer
from .thread_safe_store import ThreadSafeMap
from .transaction import ThreadSafeStoreTransaction, Transaction, TransactionType

T = TypeVar("T")
D = TypeVar("D")


class Cache(Generic[T]):
    """An :class:`~kcache.Indexer`: a key function in front of a thread-safe store (client-go ``cache``).

    The complexities are the store's, see :class:`~kcache.ThreadSafeMap`, plus one call of the key function.
    """

    def __init__(
        self, key_func: KeyFunc[T], storage: ThreadSafeStore[T], transformer: Transformer[T] | None = None
    ) -> None:
        self._key_func = key_func
        self._storage = storage
        self._transformer = transformer

    def add(self, obj: T, /) -> None:
        """Insert or replace the object under its key.

        Raises:
            KeyFuncError: the object has no key.
            InvalidObjectError: the object is ``None``.
            IndexFuncError: an index function failed for it.
            TransformError: the transformer failed for it.
        """
        self._storage.add(self._key_of(obj), obj if self._transformer is None else self._transformed(obj))

    def update(self, obj: T, /) -> None:
        """The same as :meth:`add`."""
        self._storage.update(self._key_of(obj), obj if self._transformer is None else self._transformed(obj))

    def delete(self, obj: T, /) -> None:
        """Remove the object stored under the key of ``obj``; a missing key is no error.

        Raises:
            KeyFuncError: the object has no key.
        """
        self._storage.delete_with_object(self._key_of(obj), obj)

    @overload
    def get(self, obj: T, /) -> T | None: ...
    @overload
    def get(self, obj: T, default: D, /) -> T | D: ...
    def get(self, obj: T, default: D | None = None, /) -> T | D | None:
        """The object stored under the key of ``obj``, or ``default``.

        Raises:
            KeyFuncError: the object has no key.
        """
        return self._storage.get(self._key_of(obj), default)

    @overload
    def get_by_key(self, key: str, /) -> T | None: ...
    @overload
    def get_by_key(self, key: str, default: D, /) -> T | D: ...
    def get_by_key(self, key: str, default: D | None = None, /) -> T | D | None:
        """The object stored under ``key``, or ``default``."""
        return self._storage.get(key, default)

    def list(self) -> builtins.list[T]:
        """All objects, in no particular order, as a new list."""
        return self._storage.list()

    def list_keys(self) -> builtins.list[str]:
        """All keys, in no particular order, as a new list."""
        return self._storage.list_keys()

    def replace(self, objs: Iterable[T], resource_version: str = "", /) -> None:
        """Make ``objs`` the whole content, atomically; of several objects with one key the last one wins.

        Raises:
            KeyFuncError, InvalidObjectError, IndexFuncError, TransformError: for one of the objects; the store is
                unchanged.
        """
        items = {self._key_of(obj): obj if self._transformer is None else self._transformed(obj) for obj in objs}
        self._storage.replace(items, resource_version)

    def resync(self) -> None:
        """Do nothing, unless the underlying store does something."""
        self._storage.resync()

    def index(self, index_name: str, obj: T, /) -> builtins.list[T]:
        """The objects that share an index value with ``obj``, each once.

        Raises:
            IndexNotFoundError: there is no such index.
            IndexFuncError: the index function did not return a list of ``str``.
            Exception: any error that the index function raises for ``obj``.
        """
        return self._storage.index(index_name, obj)

    def index_keys(self, index_name: str, index_value: str, /) -> builtins.list[str]:
        """The keys under ``index_value``, sorted.

        Raises:
            IndexNotFoundError: there is no such index.
        """
        return self._storage.index_keys(index_name, index_value)

    def by_index(self, index_name: str, index_value: str, /) -> builtins.list[T]:
        """The objects under ``index_value``.

        Raises:
            IndexNotFoundError: there is no such index.
        """
        return self._storage.by_index(index_name, index_value)

    def list_index_func_values(self, index_name: str, /) -> builtins.list[str]:
        """The values of the index that have at least one object now."""
        return self._storage.list_index_func_values(index_name)

    def get_indexers(self) -> Indexers[T]:
        """A copy of the index functions by name."""
        return self._storage.get_indexers()

    def add_indexers(self, new_indexers: Indexers[T], /) -> None:
        """Add index functions, all of them or none; raises the errors of :meth:`ThreadSafeMap.add_indexers`."""
        self._storage.add_indexers(new_indexers)

    def transaction(self, *transactions: Transaction[T]) -> None:
        """Apply the writes in order; readers see all of them or none. The transformer is not run.

        Raises:
            TransactionError: some entries could not be applied and were skipped; the others were applied.
        """
        keyed, positions = [], []
        errors: dict[int, KcacheError] = {}
        for position, entry in enumerate(transactions):
            try:
                keyed.append(
                    ThreadSafeStoreTransaction(TransactionType(entry.type), self._key_of(entry.obj), entry.obj)
                )
                positions.append(position)
            except KeyFuncError as error:
                errors[position] = error
        successful = positions
        try:
            self._storage.transaction(*keyed)
        except TransactionError as failed:
            successful = [positions[index] for index in failed.successful_indices]
            left_out = [position for position in positions if position not in successful]
            errors.update(zip(left_out, failed.errors, strict=True))
        if errors:
            raise TransactionError(len(transactions), successful, [errors[position] for position in sorted(errors)])

    def bookmark(self, resource_version: str, /) -> None:
        """Record that the source of the objects has reached ``resource_version``."""
        self._storage.bookmark(resource_version)

    def last_sync_resource_version(self) -> str:
        """The resource version of the last written or deleted object, replacement or bookmark."""
        return self._storage.last_sync_resource_version()

    def _key_of(self, obj: T) -> str:
        try:
            key = self._key_func(obj)
        except Exception as error:
            raise KeyFuncError(obj, error) from error
        if key.__class__ is str:
            return key
        if isinstance(key, str):
            return str.__str__(key)
        raise KeyFuncError(obj, TypeError(f"a key function must return a str, not a {type(key).__name__}"))

    def _transformed(self, obj: T) -> T:
        assert self._transformer is not None
        try:
            return self._transformer(obj)
        except Exception as error:
            raise TransformError(error) from error


def new_store(key_func: KeyFunc[T], *, transformer: Transformer[T] | None = None) -> Cache[T]:
    """A store without indices (client-go ``NewStore``)."""
    return Cache(key_func, ThreadSafeMap(), transformer)


def new_indexer(
    key_func: KeyFunc[T],
    indexers: Indexers[T] | None = None,
    *,
    semantics: Semantics | str = Semantics.CLASSIC,
    transformer: Transformer[T] | None = None,
) -> Cache[T]:
    """A store with indices (client-go ``NewIndexer``).

    Args:
        key_func: object -> key.
        indexers: index name -> index function; copied.
        semantics: ``"classic"`` rejects ``add_indexers`` on a store that holds objects, ``"current"`` indexes them.
        transformer: replaces each object before it is stored; the key is computed from the original object.

    Raises:
        InvalidIndexerError: an index function cannot be called.
        ValueError: there are no such semantics.
    """
    return Cache(key_func, ThreadSafeMap(indexers, Semantics(semantics)), transformer)


def new_thread_safe_store(
    indexers: Indexers[T] | None = None, *, semantics: Semantics | str = Semantics.CLASSIC
) -> ThreadSafeMap[T]:
    """A store whose callers pass the keys (client-go ``NewThreadSafeStore``).

    Raises:
        InvalidIndexerError: an index function cannot be called.
        ValueError: there are no such semantics.
    """
    return ThreadSafeMap(indexers, Semantics(semantics))
