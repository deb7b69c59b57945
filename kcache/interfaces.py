"""The interfaces of stores and indexers (client-go ``tools/cache``).

Three kinds of strings occur and must not be confused (client-go ``index.go``): a *key* names a stored object, an
*index name* names an index function, and an *index value* is a string that an index function returns for an object.

Objects that a store returns are the stored ones, not copies: treat them as read-only.
"""

from __future__ import annotations

import builtins
import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, overload

if TYPE_CHECKING:
    from .transaction import ThreadSafeStoreTransaction, Transaction

T = TypeVar("T")
D = TypeVar("D")

KeyFunc: TypeAlias = Callable[[T], str]
"""A function that computes the key of an object. It must be deterministic; it raises if the object has no key."""

IndexFunc: TypeAlias = Callable[[T], Sequence[str] | None]
"""A function that returns an object's values under one index: a list (or tuple) of ``str``; ``None`` for no values."""

Indexers: TypeAlias = Mapping[str, IndexFunc[T]]
"""Index name -> index function."""

Transformer: TypeAlias = Callable[[Any], T]
"""A function that replaces an object before it is stored, after its key was computed (client-go ``TransformFunc``)."""


class Semantics(enum.Enum):
    """The generation of client-go to follow where generations differ.

    ``CLASSIC`` (v0.18 to v0.29) rejects ``add_indexers`` on a store that holds objects; ``CURRENT`` (since v0.30)
    indexes the stored objects.
    """

    CLASSIC = "classic"
    CURRENT = "current"


class Store(Protocol[T]):
    """A thread-safe collection of objects under keys that it computes itself (client-go ``Store``)."""

    def add(self, obj: T, /) -> None:
        """Insert or replace the object under its key."""

    def update(self, obj: T, /) -> None:
        """The same as :meth:`add`."""

    def delete(self, obj: T, /) -> None:
        """Remove the object stored under the key of ``obj``; a missing key is no error."""

    @overload
    def get(self, obj: T, /) -> T | None: ...
    @overload
    def get(self, obj: T, default: D, /) -> T | D: ...

    @overload
    def get_by_key(self, key: str, /) -> T | None: ...
    @overload
    def get_by_key(self, key: str, default: D, /) -> T | D: ...

    def list(self) -> builtins.list[T]:
        """All objects, in no particular order, as a new list."""
        ...

    def list_keys(self) -> builtins.list[str]:
        """All keys, in no particular order, as a new list."""
        ...

    def replace(self, objs: Iterable[T], resource_version: str = "", /) -> None:
        """Make ``objs`` the whole content, atomically; of several objects with one key the last one wins."""

    def resync(self) -> None:
        """Do nothing: a plain store has nothing to resync."""


class Indexer(Store[T], Protocol[T]):
    """A store with lookups by the values that index functions return for the objects (client-go ``Indexer``)."""

    def index(self, index_name: str, obj: T, /) -> builtins.list[T]:
        """The objects that share at least one index value with ``obj``, each once."""
        ...

    def index_keys(self, index_name: str, index_value: str, /) -> builtins.list[str]:
        """The keys of the objects under ``index_value``, sorted."""
        ...

    def by_index(self, index_name: str, index_value: str, /) -> builtins.list[T]:
        """The objects under ``index_value``."""
        ...

    def list_index_func_values(self, index_name: str, /) -> builtins.list[str]:
        """The values that have at least one object now; ``[]`` for an unknown index."""
        ...

    def get_indexers(self) -> Indexers[T]:
        """A copy of the index functions by name."""
        ...

    def add_indexers(self, new_indexers: Indexers[T], /) -> None:
        """Add index functions, all of them or none."""


class TransactionStore(Protocol[T]):
    """A store that applies several writes at once (client-go ``TransactionStore``)."""

    def transaction(self, *transactions: Transaction[T]) -> None:
        """Apply the writes in order with no state between them visible to readers."""


class ResourceVersionStore(Protocol):
    """A store that records the resource version that its source has reached (client-go v0.36)."""

    def bookmark(self, resource_version: str, /) -> None:
        """Record that the source has reached ``resource_version``."""

    def last_sync_resource_version(self) -> str:
        """The resource version of the last write or bookmark."""
        ...


class ThreadSafeStore(Protocol[T]):
    """A thread-safe collection whose callers pass the keys (client-go ``ThreadSafeStore``)."""

    def add(self, key: str, obj: T, /) -> None: ...
    def update(self, key: str, obj: T, /) -> None: ...
    def delete(self, key: str, /) -> None: ...
    def delete_with_object(self, key: str, obj: T, /) -> None: ...

    @overload
    def get(self, key: str, /) -> T | None: ...
    @overload
    def get(self, key: str, default: D, /) -> T | D: ...

    def list(self) -> builtins.list[T]: ...
    def list_keys(self) -> builtins.list[str]: ...
    def replace(self, items: Mapping[str, T], resource_version: str = "", /) -> None: ...
    def resync(self) -> None: ...
    def index(self, index_name: str, obj: T, /) -> builtins.list[T]: ...
    def index_keys(self, index_name: str, index_value: str, /) -> builtins.list[str]: ...
    def by_index(self, index_name: str, index_value: str, /) -> builtins.list[T]: ...
    def list_index_func_values(self, index_name: str, /) -> builtins.list[str]: ...
    def get_indexers(self) -> Indexers[T]: ...
    def add_indexers(self, new_indexers: Indexers[T], /) -> None: ...
    def transaction(self, *transactions: ThreadSafeStoreTransaction[T]) -> None: ...
    def bookmark(self, resource_version: str, /) -> None: ...
    def last_sync_resource_version(self) -> str: ...
