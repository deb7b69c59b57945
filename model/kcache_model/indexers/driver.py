"""Driver: calls operations of a real Indexer and returns their outcomes as plain data.

The driver is a rude caller on purpose: it clears every list that it passed to the Indexer or received from it. If an
implementation keeps a caller's list, or returns its own list, later results are then wrong. The mappings of index
functions, which client-go shares with its callers, are cleared for strict targets only.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import kcache
from kcache import Indexer, Transaction, TransactionType

from ..errors import UnwindError
from ..history import PREFIX_THREAD
from ..object_types.object_type import PreparedCall
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

_N: TypeAlias = OperationName
_REPLACE, _ADD_INDEXERS, _GET_INDEXERS = _N.REPLACE, _N.ADD_INDEXERS, _N.GET_INDEXERS

_MOST_RESULTS = 10_000
_LONGEST_TEXT = 1_000
"""Limits of a result, in elements and characters. Programs are small: a larger result is wrong, and is cut short."""

_TRANSACTION_TYPES = {
    WriteKind.ADD: TransactionType.ADD,
    WriteKind.UPDATE: TransactionType.UPDATE,
    WriteKind.DELETE: TransactionType.DELETE,
}


class Driver:
    """One Indexer of a target, and the objects that are passed to it.

    Args:
        target: the implementation; its factory is called at once, and its exceptions pass through.
        indexes: the names of the indices to create it with.
        semantics: the generation of client-go that defines the correct results.
        make_index_func: index name -> index function, for callers that need an instrumented index function.
        make_key_func: the key function.
        passing: types of exceptions that pass through because they are not outcomes of calls.

    Attributes:
        made: the Indexer.
        indexes: the names of the indices that it was created with.
        passing: types of exceptions that are no outcomes of calls.
    """

    def __init__(
        self,
        target: Target,
        indexes: Sequence[str],
        semantics: Semantics,
        *,
        make_index_func: Callable[[str], Callable[[Thing], Any]] = index_func,
        make_key_func: Callable[[Thing], str] = key_func,
        passing: tuple[type[BaseException], ...] = (),
    ) -> None:
        self._target = target
        self._make_index_func = make_index_func
        self.passing: tuple[type[BaseException], ...] = (*passing, KeyboardInterrupt, UnwindError)
        self._things: dict[str, Thing] = {}
        self.indexes = tuple(indexes)
        indexers = {name: make_index_func(name) for name in indexes}
        self.made: Indexer[Any] = target.create(make_key_func, indexers, semantics)
        if target.shares_nothing:
            spoil(indexers)
        self._reads_any_iterable = LISTS in target.unsupported
        self._owns_results = LIVE_RESULTS not in target.unsupported
        self._owns_mappings = target.shares_nothing
        self._owns_arguments = KEPT_ARGUMENTS not in target.unsupported

    def call(self, operation: Operation, thread: int = PREFIX_THREAD) -> Outcome:  # noqa: ARG002 - of all threads alike
        """Call the operation and return its outcome."""
        prepared = self.prepare(operation)
        try:
            result = prepared.function(*prepared.arguments)
        except self.passing:
            raise
        except BaseException as error:
            return self.outcome_of_error(error)
        return self.outcome(prepared, result)

    def method_of(self, operation: Operation) -> object:
        """The method that a call of the operation runs; ``None`` if it has none."""
        return getattr(self.made, operation.name.value, None)

    def prepare(self, operation: Operation) -> PreparedCall:
        """Look up the method and build the arguments of a call; if the lookup fails, the call raises its error."""
        if operation.name is OperationName.MUTATE:
            return PreparedCall(operation, self._mutate, (operation,))
        try:
            method = getattr(self.made, operation.name.value)
        except Exception as error:
            method = _raiser(error)
        if operation.name is OperationName.GET_INDEXERS and not self._target.shares_nothing:
            method = _snapshot(method)
        return PreparedCall(operation, method, self.arguments(operation))

    def outcome(self, prepared: PreparedCall, result: object) -> Outcome:
        """The outcome of a call that returned ``result``; then clear the containers that it received and returned."""
        name = prepared.operation.name
        outcome = self.outcome_so_far(name, result)
        if name is _REPLACE:
            if self._owns_arguments:
                spoil(prepared.arguments[0])
        elif name is _ADD_INDEXERS and self._owns_mappings:
            spoil(prepared.arguments[0])
        if result is not None and (self._owns_mappings if name is _GET_INDEXERS else self._owns_results):
            spoil(result)
        return outcome

    def outcome_so_far(self, name: OperationName, result: object) -> Outcome:
        """The outcome of a call that returned ``result``, as :meth:`outcome`; no container is cleared."""
        if self._reads_any_iterable and isinstance(result, Iterable) and not isinstance(result, (str, Mapping)):
            result = list(result)
        return _returned(_VALUES.get(name, Driver._nothing)(self, result))

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
        close = getattr(self.made, "close", None)
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
        make = _ARGUMENTS.get(operation.name)
        return () if make is None else make(self, operation)

    def _argument_item(self, operation: Operation) -> Thing:
        assert operation.item is not None, f"{operation.name} needs an item"
        return self.thing(operation.item)

    def _one(self, result: object) -> Value:
        return None if result is None else self._stamp(result)

    def _objects(self, result: object) -> Value:
        return _listed(result, lambda objects: tuple(sorted(map(self._stamp, objects))))

    def _texts(self, result: object) -> Value:
        return _listed(result, lambda texts: tuple(sorted(map(_text, texts))))

    def _names(self, result: object) -> Value:
        return self._texts(list(result) if isinstance(result, Mapping) else result)

    def _keys(self, result: object) -> Value:
        if not self._target.asks_order:
            return self._texts(result)
        return _listed(result, lambda keys: tuple(map(_text, keys)))

    def _nothing(self, result: object) -> Value:
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
        stored = self.made.get_by_key(operation.key or "")
        if isinstance(stored, Thing):
            stored.values = operation.values or {}


_ARGUMENTS: Final[Mapping[OperationName, Callable[[Driver, Operation], tuple[object, ...]]]] = {
    **dict.fromkeys((_N.ADD, _N.UPDATE, _N.DELETE, _N.GET), lambda driver, call: (driver._argument_item(call),)),
    _N.GET_BY_KEY: lambda _, call: (call.key,),
    _N.REPLACE: lambda driver, call: (list(map(driver.thing, call.items)), call.resource_version),
    _N.TRANSACTION: lambda driver, call: tuple(
        Transaction(_TRANSACTION_TYPES[kind], driver.thing(item)) for kind, item in call.entries
    ),
    _N.INDEX: lambda driver, call: (call.index, driver._argument_item(call)),
    **dict.fromkeys((_N.INDEX_KEYS, _N.BY_INDEX), lambda _, call: (call.index, call.value)),
    _N.LIST_INDEX_FUNC_VALUES: lambda _, call: (call.index,),
    _N.ADD_INDEXERS: lambda driver, call: ({name: driver._make_index_func(name) for name in call.names},),
    _N.BOOKMARK: lambda _, call: (call.resource_version,),
}
"""Operation -> the arguments for its method, if it has any. Programs run thousands of times: tables are fast."""

_VALUES: Final[Mapping[OperationName, Callable[[Driver, object], Value]]] = {
    **dict.fromkeys((_N.GET, _N.GET_BY_KEY), Driver._one),
    **dict.fromkeys((_N.LIST, _N.BY_INDEX, _N.INDEX), Driver._objects),
    **dict.fromkeys((_N.LIST_KEYS, _N.LIST_INDEX_FUNC_VALUES), Driver._texts),
    _N.GET_INDEXERS: Driver._names,
    _N.INDEX_KEYS: Driver._keys,
    _N.LAST_SYNC_RESOURCE_VERSION: lambda _, result: _text(result),
}
"""Operation -> the value of its result; the others return nothing."""

_returned: Final = functools.lru_cache(maxsize=4096)(returned)
"""The judges compare millions of outcomes, identical ones at once. All values are texts, tuples of texts, or None."""


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
    if driver.made.get_by_key("no such key", default) is not default:
        return False
    missing = materialise(Item("no such key", "missing"))
    return not target.supports(OperationName.GET) or driver.made.get(missing, default) is default


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
