"""The sequential specification of an Indexer. Read this first: everything else is judged by it.

A state maps each key to the stored object, together with the index values that the object had when it was written.
Lookups use these index values. ``apply`` never changes a state; it returns a new state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..outcomes import ErrorKind, Outcome, raised, returned
from .items import Item, Semantics, Values
from .operations import Operation, OperationName, WriteKind


@dataclass(frozen=True)
class Stored:
    """One object in the store, with its values under each index at the time of the write."""

    item: Item
    indexed: Mapping[str, tuple[str, ...]]

    def is_under(self, index: str, value: str) -> bool:
        """Whether a lookup of ``value`` in ``index`` returns the object."""
        return value in self.indexed.get(index, ())


@dataclass(frozen=True)
class State:
    """The content of an Indexer.

    Attributes:
        indexes: the names of its indices.
        stored: key -> the object and its index values.
        resource_version: the version that ``last_sync_resource_version`` returns.
        mutated: stamp -> the present values of an object that was changed in place.
    """

    indexes: frozenset[str]
    stored: Mapping[str, Stored] = field(default_factory=dict)
    resource_version: str = ""
    mutated: Mapping[str, Values] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((frozenset((key, stored.item.stamp) for key, stored in self.stored.items()), self.resource_version))

    def values_of(self, item: Item, index: str) -> tuple[str, ...] | None:
        """The values that the index function returns for the object now; ``None`` if it fails."""
        return self.mutated.get(item.stamp, item.values).get(index, ())


class _CallFails(Exception):
    """Failure of an operation: the operation has no effect and raises this kind of error."""

    def __init__(self, error: ErrorKind) -> None:
        self.error = error


@dataclass(frozen=True)
class IndexerModel:
    """The specification under one of the two semantics."""

    semantics: Semantics = Semantics.CLASSIC

    def initial(self, indexes: Iterable[str]) -> State:
        """An empty Indexer with these indices."""
        return State(frozenset(indexes))

    def apply(self, state: State, operation: Operation) -> tuple[State, Outcome]:
        """The state after ``operation``, and its outcome.

        A failing operation changes nothing, except that a transaction keeps its entries that did not fail.
        """
        try:
            return _RULES[operation.name](self, state, operation)
        except _CallFails as failure:
            return state, raised(failure.error)

    def effects(self, state: State, operation: Operation) -> Sequence[tuple[State, Outcome]]:
        """All possible pairs of next state and outcome of ``operation``; the first is the result of ``apply``."""
        return (self.apply(state, operation),)

    def respond(self, state: State, operation: Operation, observed: Outcome | None) -> tuple[State, Outcome]:  # noqa: ARG002
        """The result of ``apply``; if the specification allows several outcomes, ``observed`` selects one."""
        return self.apply(state, operation)

    def _add_or_update(self, state: State, operation: Operation) -> tuple[State, Outcome]:
        return _with_put(state, _item_of(operation)), returned()

    def _delete(self, state: State, operation: Operation) -> tuple[State, Outcome]:
        return _with_delete(state, _item_of(operation)), returned()

    def _replace(self, state: State, operation: Operation) -> tuple[State, Outcome]:
        last_of_key = {_key_of(item): item for item in operation.items}
        stored = {key: Stored(item, _indexed(state, item, state.indexes)) for key, item in last_of_key.items()}
        return replace(state, stored=stored, resource_version=operation.resource_version), returned()

    def _transaction(self, state: State, operation: Operation) -> tuple[State, Outcome]:
        failed, before, last = False, state, None
        for kind, item in operation.entries:
            try:
                state = _with_delete(state, item) if kind is WriteKind.DELETE else _with_put(state, item)
                last = item
            except _CallFails:
                failed = True
        if last is not None:  # either the last object's version or the version before the transaction; none between
            state = _versioned(replace(state, resource_version=before.resource_version), last)
        return state, raised(ErrorKind.TRANSACTION) if failed else returned()

    def _get(self, state: State, operation: Operation) -> tuple[State, Outcome]:
        stored = state.stored.get(_key_of(_item_of(operation)))
        return state, returned(None if stored is None else stored.item.stamp)

    def _get_by_key(self, state: State, operation: Operation) -> tuple[State, Outcome]:
        stored = state.stored.get(operation.key or "")
        return state, returned(None if stored is None else stored.item.stamp)

    def _list(self, state: State, _: Operation) -> tuple[State, Outcome]:
        return state, _stamps(state.stored.values())

    def _list_keys(self, state: State, _: Operation) -> tuple[State, Outcome]:
        return state, returned(tuple(sorted(state.stored)))

    def _index(self, state: State, operation: Operation) -> tuple[State, Outcome]:
        index = _existing_index(state, operation)
        values = state.values_of(_item_of(operation), index)
        if values is None:
            raise _CallFails(ErrorKind.INDEX_FUNC)
        matches = [stored for stored in state.stored.values() if any(stored.is_under(index, value) for value in values)]
        return state, _stamps(matches)

    def _index_keys(self, state: State, operation: Operation) -> tuple[State, Outcome]:
        index = _existing_index(state, operation)
        keys = [key for key, stored in state.stored.items() if stored.is_under(index, operation.value or "")]
        return state, returned(tuple(sorted(keys)))

    def _by_index(self, state: State, operation: Operation) -> tuple[State, Outcome]:
        index = _existing_index(state, operation)
        return state, _stamps(
            stored for stored in state.stored.values() if stored.is_under(index, operation.value or "")
        )

    def _list_index_func_values(self, state: State, operation: Operation) -> tuple[State, Outcome]:
        values = {value for stored in state.stored.values() for value in stored.indexed.get(operation.index or "", ())}
        return state, returned(tuple(sorted(values)))

    def _get_indexers(self, state: State, _: Operation) -> tuple[State, Outcome]:
        return state, returned(tuple(sorted(state.indexes)))

    def _add_indexers(self, state: State, operation: Operation) -> tuple[State, Outcome]:
        if state.stored and self.semantics is Semantics.CLASSIC:
            raise _CallFails(ErrorKind.INDEXERS_RUNNING)
        if state.indexes.intersection(operation.names):
            raise _CallFails(ErrorKind.INDEXER_CONFLICT)
        stored = {
            key: replace(old, indexed={**old.indexed, **_indexed(state, old.item, operation.names)})
            for key, old in state.stored.items()
        }
        return replace(state, indexes=state.indexes.union(operation.names), stored=stored), returned()

    def _resync(self, state: State, _: Operation) -> tuple[State, Outcome]:
        return state, returned()

    def _bookmark(self, state: State, operation: Operation) -> tuple[State, Outcome]:
        return replace(state, resource_version=operation.resource_version), returned()

    def _last_sync_resource_version(self, state: State, _: Operation) -> tuple[State, Outcome]:
        return state, returned(state.resource_version)

    def _mutate(self, state: State, operation: Operation) -> tuple[State, Outcome]:
        stored = state.stored.get(operation.key or "")
        if stored is None:
            return state, returned()
        return replace(state, mutated={**state.mutated, stored.item.stamp: operation.values or {}}), returned()


_Rule = Callable[[IndexerModel, State, Operation], tuple[State, Outcome]]

_RULES: Mapping[OperationName, _Rule] = {
    OperationName.ADD: IndexerModel._add_or_update,
    OperationName.UPDATE: IndexerModel._add_or_update,
    OperationName.DELETE: IndexerModel._delete,
    OperationName.REPLACE: IndexerModel._replace,
    OperationName.TRANSACTION: IndexerModel._transaction,
    OperationName.GET: IndexerModel._get,
    OperationName.GET_BY_KEY: IndexerModel._get_by_key,
    OperationName.LIST: IndexerModel._list,
    OperationName.LIST_KEYS: IndexerModel._list_keys,
    OperationName.INDEX: IndexerModel._index,
    OperationName.INDEX_KEYS: IndexerModel._index_keys,
    OperationName.BY_INDEX: IndexerModel._by_index,
    OperationName.LIST_INDEX_FUNC_VALUES: IndexerModel._list_index_func_values,
    OperationName.GET_INDEXERS: IndexerModel._get_indexers,
    OperationName.ADD_INDEXERS: IndexerModel._add_indexers,
    OperationName.RESYNC: IndexerModel._resync,
    OperationName.BOOKMARK: IndexerModel._bookmark,
    OperationName.LAST_SYNC_RESOURCE_VERSION: IndexerModel._last_sync_resource_version,
    OperationName.MUTATE: IndexerModel._mutate,
}


def _with_put(state: State, item: Item) -> State:
    key = _key_of(item)
    stored = Stored(item, _indexed(state, item, state.indexes))
    return _versioned(replace(state, stored={**state.stored, key: stored}), item)


def _with_delete(state: State, item: Item) -> State:
    key = _key_of(item)
    return _versioned(replace(state, stored={k: stored for k, stored in state.stored.items() if k != key}), item)


def _versioned(state: State, item: Item) -> State:
    return state if item.resource_version is None else replace(state, resource_version=item.resource_version)


def _indexed(state: State, item: Item, indexes: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    indexed = {}
    for index in indexes:
        values = state.values_of(item, index)
        if values is None:
            raise _CallFails(ErrorKind.INDEX_FUNC)
        indexed[index] = values
    return indexed


def _key_of(item: Item) -> str:
    if item.key is None:
        raise _CallFails(ErrorKind.KEY_FUNC)
    return item.key


def _item_of(operation: Operation) -> Item:
    assert operation.item is not None, f"{operation.name} needs an item"
    return operation.item


def _existing_index(state: State, operation: Operation) -> str:
    if operation.index not in state.indexes:
        raise _CallFails(ErrorKind.INDEX_NOT_FOUND)
    assert operation.index is not None
    return operation.index


def _stamps(objects: Iterable[Stored]) -> Outcome:
    return returned(tuple(sorted(stored.item.stamp for stored in objects)))
