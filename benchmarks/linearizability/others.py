"""Other ways to judge the same histories: the generic search, and the checker of detangle, if it is installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kcache_model.history import Call
from kcache_model.indexers.indexer_model import IndexerModel, State
from kcache_model.indexers.operations import OperationName
from kcache_model.indexers.program import History
from kcache_model.linearizability import SearchBudget
from kcache_model.linearizability.search import search_linearization
from kcache_model.outcomes import Outcome
from kcache_model.verdict import Status

try:
    from detangle import lin
except ImportError:
    lin = None

_STEPS_PER_SECOND = 100_000
"""So many steps detangle is given for each second that the others have: it takes no limit in seconds."""


def search(history: History, seconds: float) -> Status:
    """The verdict of the generic search."""
    model = IndexerModel(history.semantics)
    budget = SearchBudget(seconds=seconds)
    return search_linearization(
        model, model.initial(history.indexes), history.calls, budget, Outcome.agrees_with
    ).status


def detangle_by_key(history: History) -> Callable[[float], Status] | None:
    """Detangle's own model of a map, judged key by key; for gets, updates and deletes."""
    if lin is None:
        return None
    calls = [_operation(position, call, *_as_map(call)) for position, call in enumerate(history.calls)]
    return _checker(calls, lin.KV())


def detangle_as_a_whole(history: History) -> Callable[[float], Status] | None:
    """A model of one's own: it has no parts that could be judged one by one, since a lookup is about all keys."""
    if lin is None:
        return None
    calls = [
        _operation(position, call, call.operation.name.value, call.operation, call.outcome)
        for position, call in enumerate(history.calls)
    ]
    return _checker(calls, _indexer(IndexerModel(history.semantics), history))


def _operation(position: int, call: Call, name: str, argument: object, output: object) -> Any:
    status = "pending" if call.returned is None else "ok"
    return lin.Operation(position, call.thread, name, argument, call.invoked, 0.0, output, status, call.returned)


def _as_map(call: Call) -> tuple[str, object, object]:
    operation, item = call.operation, call.operation.item
    value = None if call.outcome is None else call.outcome.value
    if operation.name is OperationName.GET_BY_KEY:
        return "get", operation.key, value
    assert item is not None
    return (
        ("delete", item.key, None) if operation.name is OperationName.DELETE else ("put", (item.key, item.stamp), None)
    )


def _indexer(model: IndexerModel, history: History) -> Any:
    class Indexer(lin.Model):
        name = "indexer"

        def init(self) -> State:
            return model.initial(history.indexes)

        def step(self, state: State, call: Any) -> tuple[bool, State]:
            after, expected = model.apply(state, call.arg)
            return call.output is None or call.output.agrees_with(expected), after

    return Indexer()


def _checker(calls: Sequence[Any], model: Any) -> Callable[[float], Status]:
    def check(seconds: float) -> Status:
        try:
            result = lin.check(calls, model, budget=int(seconds * _STEPS_PER_SECOND))
        except RuntimeError:
            return Status.UNKNOWN
        return Status.OK if result.ok else Status.VIOLATION

    return check
