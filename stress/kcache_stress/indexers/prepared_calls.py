"""Prepared calls of a program that runs many times: arguments and outcomes are computed once where possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kcache_model.indexers.driver import Driver, Prepared
from kcache_model.indexers.objects import Thing
from kcache_model.indexers.operations import Operation, OperationName
from kcache_model.outcomes import Outcome

_TAKES_CONTAINERS = frozenset({OperationName.REPLACE, OperationName.ADD_INDEXERS})
_PREPARED_ANEW = _TAKES_CONTAINERS | {OperationName.GET_INDEXERS}

Call = tuple[int, Callable[..., object], tuple[object, ...]]
"""The position of the call in its :class:`Calls`, the bound method, and its arguments."""


class Calls:
    """A sequence of calls of a program, for many executions.

    Args:
        operations: the operations to call.
        things: the objects that represent the items, by stamp; ``None`` if each execution needs its own objects.
    """

    def __init__(self, operations: Sequence[Operation], things: dict[str, Thing] | None) -> None:
        self.operations = operations
        self._things = things
        self._arguments: list[tuple[object, ...] | None] = [None] * len(operations)
        tables: dict[OperationName, dict[object, Outcome]] = {}
        self._outcomes = [tables.setdefault(operation.name, {}) for operation in operations]
        self._names = [operation.name.value for operation in operations]
        self._takes_container = [operation.name in _TAKES_CONTAINERS for operation in operations]
        self._known: dict[int, Thing] = {}

    def prepare(self, driver: Driver) -> list[Call]:
        """Return the calls, bound to the new Indexer of the driver."""
        indexer = driver.indexer
        calls: list[Call] = []
        for position, operation in enumerate(self.operations):
            arguments = self._arguments[position]
            if arguments is None:
                prepared = driver.prepare(operation)
                calls.append((position, prepared.function, prepared.arguments))
                if self._things is not None and operation.name not in _PREPARED_ANEW:
                    self._arguments[position] = prepared.arguments
                    self._known.update((id(thing), thing) for thing in self._things.values())
            else:
                try:
                    calls.append((position, getattr(indexer, self._names[position]), arguments))
                except Exception:
                    calls.append((position, driver.prepare(operation).function, arguments))
        return calls

    def outcome(self, driver: Driver, call: Call, result: object, error: BaseException | None) -> Outcome:
        """Return the outcome of a call; clear the containers that it received and returned, as a rude caller would."""
        if error is not None:
            return driver.outcome_of_error(error)
        position, function, arguments = call
        outcomes, signature = self._outcomes[position], self._signature(result)
        found = None if signature is None else outcomes.get(signature)
        if found is not None:
            name = self.operations[position].name
            if type(result) is list:
                driver.spoil_returned(name, result)
            if self._takes_container[position]:
                driver.spoil_given(name, arguments)
            return found
        found = driver.outcome(Prepared(self.operations[position], function, arguments), result)
        if signature is not None:
            outcomes[signature] = found
        return found

    def _signature(self, result: object) -> object:
        """Return a hashable value that determines the outcome; ``None`` if the driver has to examine the result."""
        if result is None:
            return 0  # differs from the signature of an empty list, which is ()
        kind = type(result)
        if kind is str:
            return result
        if kind is list:
            known = self._known
            signature = [
                element if type(element) is str else id(element) if id(element) in known else None
                for element in result  # type: ignore[attr-defined]
            ]
            return None if None in signature else tuple(signature)
        return id(result) if id(result) in self._known else None
