"""Operations on an Indexer, as plain data."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from dataclasses import replace as replace_fields

from ..render import name_text, quoted
from .items import Item, Values, values_text


class OperationName(enum.StrEnum):
    """The methods of an Indexer; ``MUTATE`` is no method: the caller changes a stored object in place."""

    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"
    REPLACE = "replace"
    TRANSACTION = "transaction"
    GET = "get"
    GET_BY_KEY = "get_by_key"
    LIST = "list"
    LIST_KEYS = "list_keys"
    INDEX = "index"
    INDEX_KEYS = "index_keys"
    BY_INDEX = "by_index"
    LIST_INDEX_FUNC_VALUES = "list_index_func_values"
    GET_INDEXERS = "get_indexers"
    ADD_INDEXERS = "add_indexers"
    RESYNC = "resync"
    BOOKMARK = "bookmark"
    LAST_SYNC_RESOURCE_VERSION = "last_sync_resource_version"
    MUTATE = "mutate"


WRITES = frozenset(
    {
        OperationName.ADD,
        OperationName.UPDATE,
        OperationName.DELETE,
        OperationName.REPLACE,
        OperationName.TRANSACTION,
        OperationName.ADD_INDEXERS,
        OperationName.BOOKMARK,
        OperationName.MUTATE,
    }
)
"""The operations that may change the state."""

INDEX_OPERATIONS = frozenset(
    {
        OperationName.INDEX,
        OperationName.INDEX_KEYS,
        OperationName.BY_INDEX,
        OperationName.LIST_INDEX_FUNC_VALUES,
        OperationName.GET_INDEXERS,
        OperationName.ADD_INDEXERS,
    }
)
"""The operations that a plain Store does not have."""

OPTIONAL_OPERATIONS = frozenset(
    {
        OperationName.RESYNC,
        OperationName.TRANSACTION,
        OperationName.BOOKMARK,
        OperationName.LAST_SYNC_RESOURCE_VERSION,
        OperationName.GET_INDEXERS,
        OperationName.ADD_INDEXERS,
    }
)
"""The operations that an Indexer may lack without a declaration; the report lists them as not tested."""


class WriteKind(enum.StrEnum):
    """Kind of write of one entry of a transaction."""

    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Operation:
    """One call. The name determines which fields are used; see the functions of this module.

    Attributes:
        name: the method.
        item: the object passed to ``add``, ``update``, ``delete``, ``get`` and ``index``.
        items: the objects passed to ``replace``.
        entries: the writes of a ``transaction``.
        key: the key passed to ``get_by_key`` and ``mutate``.
        index: the index name passed to a lookup.
        value: the index value passed to a lookup.
        names: the names of the indices that ``add_indexers`` adds.
        resource_version: the resource version passed to ``replace`` and ``bookmark``.
        values: the new values that ``mutate`` sets on the stored object.
    """

    name: OperationName
    item: Item | None = None
    items: tuple[Item, ...] = ()
    entries: tuple[tuple[WriteKind, Item], ...] = ()
    key: str | None = None
    index: str | None = None
    value: str | None = None
    names: tuple[str, ...] = ()
    resource_version: str = ""
    values: Values | None = None

    def __str__(self) -> str:
        """Text of the call in the notation of Python."""
        return f"{self.name.value}({', '.join(self._arguments())})"

    @property
    def brief(self) -> Operation:
        """The operation with only the keys and stamps of its objects, for use in sentences."""
        return self.with_items(lambda item: item.bare)

    @property
    def plain(self) -> Operation:
        """The operation with plain objects: without their styles and without indices that have no values."""
        return self.with_items(lambda item: item.plain)

    @property
    def is_write(self) -> bool:
        """Whether it may change the state."""
        return self.name in WRITES

    @property
    def given(self) -> tuple[Item, ...]:
        """All items among the arguments."""
        first = () if self.item is None else (self.item,)
        return (*first, *self.items, *(item for _, item in self.entries))

    def with_items(self, change: Callable[[Item], Item]) -> Operation:
        """The same operation with ``change`` applied to each item."""
        return replace_fields(
            self,
            item=None if self.item is None else change(self.item),
            items=tuple(map(change, self.items)),
            entries=tuple((kind, change(item)) for kind, item in self.entries),
        )

    @property
    def written(self) -> tuple[Item, ...]:
        """The items that become the content of the store if the call succeeds."""
        if self.name in (OperationName.ADD, OperationName.UPDATE) and self.item is not None:
            return (self.item,)
        if self.name is OperationName.TRANSACTION:
            return tuple(item for kind, item in self.entries if kind is not WriteKind.DELETE)
        return self.items

    @property
    def in_full(self) -> Iterator[tuple[str, str]]:
        """Yield (name, full text) of each argument; after an object, its key and values that its text cuts short."""
        for name, text in (("key", self.key), ("index", self.index), ("value", self.value)):
            if text is not None:
                yield name, quoted(text)
        if self.item is not None:
            yield from self.item.in_full("object")
        for number, item in enumerate(self.items, 1):
            yield from item.in_full(f"object {number}")
        for number, (kind, item) in enumerate(self.entries, 1):
            yield from item.in_full(f"{number}. {kind.value}")
        for name in self.names:
            yield "index", quoted(name)
        for index, values in (self.values or {}).items():
            yield (
                f"values of {index}",
                "the function fails" if values is None else ", ".join(map(quoted, values)) or "none",
            )
        if self.resource_version:
            yield "resource version", quoted(self.resource_version)

    def _arguments(self) -> list[str]:
        version = [f"rv={name_text(self.resource_version)}"] if self.resource_version else []
        if self.name is OperationName.REPLACE:
            return [f"[{', '.join(map(str, self.items))}]", *version]
        if self.name is OperationName.TRANSACTION:
            return [f"{kind.value} {item}" for kind, item in self.entries]
        if self.name is OperationName.ADD_INDEXERS:
            return [name_text(name) for name in self.names]
        if self.name is OperationName.MUTATE:
            return [name_text(self.key or ""), values_text(self.values or {}) or "{}"]
        texts = [name_text(text) for text in (self.key, self.index, self.value) if text is not None]
        return [*texts, *([] if self.item is None else [str(self.item)]), *version]


def add(item: Item) -> Operation:
    """``indexer.add(item)``."""
    return Operation(OperationName.ADD, item=item)


def update(item: Item) -> Operation:
    """``indexer.update(item)``."""
    return Operation(OperationName.UPDATE, item=item)


def delete(item: Item) -> Operation:
    """``indexer.delete(item)``."""
    return Operation(OperationName.DELETE, item=item)


def replace(items: tuple[Item, ...], resource_version: str = "") -> Operation:
    """``indexer.replace(items, resource_version)``."""
    return Operation(OperationName.REPLACE, items=items, resource_version=resource_version)


def transaction(*entries: tuple[WriteKind, Item]) -> Operation:
    """``indexer.transaction(*entries)``."""
    return Operation(OperationName.TRANSACTION, entries=entries)


def get(item: Item) -> Operation:
    """``indexer.get(item)``."""
    return Operation(OperationName.GET, item=item)


def get_by_key(key: str) -> Operation:
    """``indexer.get_by_key(key)``."""
    return Operation(OperationName.GET_BY_KEY, key=key)


def list_objects() -> Operation:
    """``indexer.list()``."""
    return Operation(OperationName.LIST)


def list_keys() -> Operation:
    """``indexer.list_keys()``."""
    return Operation(OperationName.LIST_KEYS)


def index(name: str, item: Item) -> Operation:
    """``indexer.index(name, item)``."""
    return Operation(OperationName.INDEX, index=name, item=item)


def index_keys(name: str, value: str) -> Operation:
    """``indexer.index_keys(name, value)``."""
    return Operation(OperationName.INDEX_KEYS, index=name, value=value)


def by_index(name: str, value: str) -> Operation:
    """``indexer.by_index(name, value)``."""
    return Operation(OperationName.BY_INDEX, index=name, value=value)


def list_index_func_values(name: str) -> Operation:
    """``indexer.list_index_func_values(name)``."""
    return Operation(OperationName.LIST_INDEX_FUNC_VALUES, index=name)


def get_indexers() -> Operation:
    """``indexer.get_indexers()``."""
    return Operation(OperationName.GET_INDEXERS)


def add_indexers(*names: str) -> Operation:
    """``indexer.add_indexers({name: function, ...})``."""
    return Operation(OperationName.ADD_INDEXERS, names=names)


def resync() -> Operation:
    """``indexer.resync()``."""
    return Operation(OperationName.RESYNC)


def bookmark(resource_version: str) -> Operation:
    """``indexer.bookmark(resource_version)``."""
    return Operation(OperationName.BOOKMARK, resource_version=resource_version)


def last_sync_resource_version() -> Operation:
    """``indexer.last_sync_resource_version()``."""
    return Operation(OperationName.LAST_SYNC_RESOURCE_VERSION)


def mutate(key: str, values: Values) -> Operation:
    """Change the object stored under ``key`` in place, without a call of the store; no effect if there is none."""
    return Operation(OperationName.MUTATE, key=key, values=values)
