"""Driver: calls operations of a real Indexer and returns their outcomes as plain data.

The driver is a rude caller on purpose: it clears every list that it passed to the Indexer or received from it. If an
implementation keeps a caller's list, or returns its own list, later results are then wrong. The mappings of index
functions, which client-go shares with its callers, are cleared for strict targets only.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import kcache
from kcache import Indexer, Transaction, TransactionType

from ..outcomes import ErrorKind, Outcome, Value, error_text, raised, returned
from ..places import place_of
from .items import Item, Semantics
from .objects import IndexUnavailableError, KeyUnavailableError, Thing, index_func, key_func, materialise
from .operations import Operation, OperationName, WriteKind
from .target import DEFAULT, IDENTITY, KEPT_ARGUMENTS, LISTS, LIVE_RESULTS, Target

_ERRORS: tuple[tuple[type[BaseException], ErrorKind], ...] = (
    (kcache.KeyFuncError, ErrorKind.KEY_FUNC),
    (KeyUnavailableError, ErrorKind.KEY_FUNC),
    (kcache.IndexFuncError, ErrorKind.INDEX_FUNC),
    (IndexUnavailableError, ErrorKind.INDEX_FUNC),
    (kcache.IndexNotFoundError, ErrorKind.INDEX_NOT_FOUND),
    (kcache.IndexerConflictError, ErrorKind.INDEXER_CONFLICT),
    (kcache.IndexersRunningError, ErrorKind.INDEXERS_RUNNING),
    (kcache.TransactionError, ErrorKind.TRANSACTION),
)

_MOST_RESULTS = 10_000
_LONGEST_TEXT = 1_000
"""Limits of a result, in elements and characters. Programs are small: a larger result is wrong, and is cut short."""

_TRANSACTION_TYPES = {
    WriteKind.ADD: TransactionType.ADD,
    WriteKind.UPDATE: TransactionType.UPDATE,
    WriteKind.DELETE: TransactionType.DELETE,
}


@dataclass(frozen=True)
class Prepared:
    """A prepared call: only the call itself remains to be run between the two readings of the clock."""

    operation: Operation
    function: Callable[..., object]
    arguments: tuple[object, ...]


class Driver:
    """One Indexer of a target, and the objects that are passed to it.

    Args:
        target: the implementation; its factory is called at once, and its exceptions pass through.
        indexes: the names of the indices to create it with.
        semantics: the generation of client-go that defines the correct results.
        make_index_func: index name -> index function, for callers that need an instrumented index function.
        make_key_func: the key function.
        things: stamp -> object, for callers that run one program many times; new objects are added to it.
    """

    def __init__(
        self,
        target: Target,
        indexes: Sequence[str],
        semantics: Semantics,
        *,
        make_index_func: Callable[[str], Callable[[Thing], Any]] = index_func,
        make_key_func: Callable[[Thing], str] = key_func,
        things: dict[str, Thing] | None = None,
    ) -> None:
        self._target = target
        self._make_index_func = make_index_func
        self._things = {} if things is None else things
        self.indexes = tuple(indexes)
        indexers = {name: make_index_func(name) for name in indexes}
        self.indexer: Indexer[Any] = target.create(make_key_func, indexers, semantics)
        if target.shares_nothing:
            spoil(indexers)

    def run(self, operation: Operation) -> Outcome:
        """Call the operation and return its outcome."""
        if operation.name is OperationName.MUTATE:
            self._mutate(operation)
            return returned()
        prepared = self.prepare(operation)
        try:
            result = prepared.function(*prepared.arguments)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return self.outcome_of_error(error)
        return self.outcome(prepared, result)

    def prepare(self, operation: Operation) -> Prepared:
        """Look up the method and build the arguments of a call; if the lookup fails, the call raises its error."""
        try:
            method = getattr(self.indexer, operation.name.value)
        except Exception as error:
            method = _raiser(error)
        if operation.name is OperationName.GET_INDEXERS and not self._target.shares_nothing:
            method = _snapshot(method)
        return Prepared(operation, method, self.arguments(operation))

    def outcome(self, prepared: Prepared, result: object) -> Outcome:
        """The outcome of a call that returned ``result``; then clear the containers that it received and returned."""
        name = prepared.operation.name
        outcome = self.outcome_so_far(name, result)
        self.spoil_given(name, prepared.arguments)
        self.spoil_returned(name, result)
        return outcome

    def spoil_returned(self, name: OperationName, result: object) -> None:
        """Clear the container that a call returned, if it belongs to the caller."""
        if name is OperationName.GET_INDEXERS:
            is_callers = self._target.shares_nothing
        else:
            is_callers = LIVE_RESULTS not in self._target.unsupported
        if is_callers:
            spoil(result)

    def spoil_given(self, name: OperationName, arguments: Sequence[object]) -> None:
        """Clear the container that was passed to ``replace`` or ``add_indexers``, if it belongs to the caller."""
        if name is OperationName.ADD_INDEXERS:
            is_callers = self._target.shares_nothing
        else:
            is_callers = name is OperationName.REPLACE and KEPT_ARGUMENTS not in self._target.unsupported
        if is_callers:
            spoil(arguments[0])

    def outcome_so_far(self, name: OperationName, result: object) -> Outcome:
        """The outcome of a call that returned ``result``, as :meth:`outcome`; no container is cleared."""
        return returned(self._value(name, result))

    def outcome_of_error(self, error: BaseException) -> Outcome:
        """The outcome of a call that raised."""
        for kind, meaning in _ERRORS:
            if isinstance(error, kind):
                return raised(meaning, error_text(error).partition(": ")[2])
        return replace(raised(ErrorKind.OTHER, error_text(error)), where=place_of(error))

    def identify(self, obj: Any) -> object:
        """The identity of an object: its ``id``, or its stamp if the target returns copies."""
        return getattr(obj, "stamp", None) if IDENTITY in self._target.unsupported else id(obj)

    def close(self) -> None:
        """Call the Indexer's ``close``, if it has one, so that it can stop its threads."""
        close = getattr(self.indexer, "close", None)
        if callable(close):
            with contextlib.suppress(Exception, SystemExit):
                close()

    def thing(self, item: Item) -> Thing:
        """The one object that represents this version of the item; created at first use."""
        thing = self._things.get(item.stamp)
        if thing is None:
            thing = self._things[item.stamp] = materialise(item)
        return thing

    def arguments(self, operation: Operation) -> tuple[object, ...]:
        """The arguments for the method; lists and dicts among them are new."""
        match operation.name:
            case OperationName.ADD | OperationName.UPDATE | OperationName.DELETE:
                return (self._given(operation),)
            case OperationName.GET:
                return (self._given(operation),)
            case OperationName.GET_BY_KEY:
                return (operation.key,)
            case OperationName.REPLACE:
                return ([self.thing(item) for item in operation.items], operation.resource_version)
            case OperationName.TRANSACTION:
                return tuple(
                    Transaction(_TRANSACTION_TYPES[kind], self.thing(item)) for kind, item in operation.entries
                )
            case OperationName.INDEX:
                return (operation.index, self._given(operation))
            case OperationName.INDEX_KEYS | OperationName.BY_INDEX:
                return (operation.index, operation.value)
            case OperationName.LIST_INDEX_FUNC_VALUES:
                return (operation.index,)
            case OperationName.ADD_INDEXERS:
                return ({name: self._make_index_func(name) for name in operation.names},)
            case OperationName.BOOKMARK:
                return (operation.resource_version,)
            case _:
                return ()

    def _given(self, operation: Operation) -> Thing:
        assert operation.item is not None, f"{operation.name} needs an item"
        return self.thing(operation.item)

    def _value(self, name: OperationName, result: object) -> Value:
        if (
            LISTS in self._target.unsupported
            and isinstance(result, Iterable)
            and not isinstance(result, (str, Mapping))
        ):
            result = list(result)
        match name:
            case OperationName.GET | OperationName.GET_BY_KEY:
                return None if result is None else self._stamp(result)
            case OperationName.LIST | OperationName.BY_INDEX | OperationName.INDEX:
                return _listed(result, lambda found: tuple(sorted(self._stamp(obj) for obj in found)))
            case OperationName.LIST_KEYS | OperationName.LIST_INDEX_FUNC_VALUES:
                return _listed(result, lambda found: tuple(sorted(map(_text, found))))
            case OperationName.GET_INDEXERS:
                names = list(result) if isinstance(result, Mapping) else result
                return _listed(names, lambda found: tuple(sorted(map(_text, found))))
            case OperationName.INDEX_KEYS:
                in_order: Callable[[Iterable[str]], Iterable[str]] = iter if self._target.asks_order else sorted
                return _listed(result, lambda found: tuple(in_order(map(_text, found))))
            case OperationName.LAST_SYNC_RESOURCE_VERSION:
                return _text(result)
            case _:
                is_nothing = result is None or not (self._target.is_strict or inspect.isawaitable(result))
                return None if is_nothing else f"<returned {_text(result)}>"

    def _stamp(self, obj: object) -> str:
        if obj is None:
            return "null"
        stamp = getattr(obj, "stamp", None)
        if not isinstance(stamp, str):
            return f"<foreign object {_text(obj)}>"
        if self._things.get(stamp) is not obj and IDENTITY not in self._target.unsupported:
            return f"<a copy of {stamp}>"
        return stamp

    def _mutate(self, operation: Operation) -> None:
        stored = self.indexer.get_by_key(operation.key or "")
        if isinstance(stored, Thing):
            stored.values = operation.values or {}


def missing_operations(indexer: object) -> list[OperationName]:
    """The operations for which the object has no method."""
    return [
        name
        for name in OperationName
        if name is not OperationName.MUTATE and not callable(getattr(indexer, name.value, None))
    ]


def takes_default(driver: Driver, target: Target) -> bool:
    """Whether ``get_by_key`` and ``get`` return the passed default for a missing key; true if that is not tested."""
    if DEFAULT in target.unsupported or not target.supports(OperationName.GET_BY_KEY):
        return True
    default = object()
    if driver.indexer.get_by_key("no such key", default) is not default:
        return False
    missing = materialise(Item("no such key", "missing"))
    return not target.supports(OperationName.GET) or driver.indexer.get(missing, default) is default


def _listed(result: object, convert: Callable[[Iterable[Any]], tuple[str, ...]]) -> Value:
    # A view or a generator is rejected as a result: it may change when the store changes.
    if not isinstance(result, (list, tuple)):
        return f"<returned {_text(result)}>"
    if len(result) > _MOST_RESULTS:
        return f"<returned a list of {len(result)} elements>"
    return convert(result)


def _raiser(error: BaseException) -> Callable[..., object]:
    def fail(*_: object) -> object:
        raise error

    return fail


def _snapshot(method: Callable[..., object]) -> Callable[..., object]:
    """Wrap ``method`` so that a mapping is copied before the call ends: the next call may change the store's own."""

    def copied() -> object:
        return snapshot(method())

    copied.snapshot_of = method  # type: ignore[attr-defined]
    return copied


def snapshot(result: object) -> object:
    """Return a copy of a mapping; return any other result unchanged."""
    return {**result} if isinstance(result, Mapping) else result


def spoil(container: object) -> None:
    """Clear a list, dict or set that was passed to an Indexer or returned by it, as a rude caller would."""
    if isinstance(container, (list, dict, set)):
        with contextlib.suppress(Exception):  # a frozen list is as good as a new one
            container.clear()


def _text(value: object) -> str:
    if isinstance(value, str):
        text = str.__str__(value)
        return text if len(text) <= _LONGEST_TEXT else f"{text[:100]}...<{len(text)} characters>"
    try:
        return f"<{type(value).__name__} {value!r:.80}>"
    except Exception:
        return f"<{type(value).__name__}>"
