"""Suitability: tests in advance whether the just-in-time checker can judge a history."""

from __future__ import annotations

from typing import Final

from ..items import Semantics
from ..operations import Operation, OperationName
from ..program import History


class Unsuitable(ValueError):
    """The just-in-time checker cannot judge the history; the message contains the reason."""


_DOUBTFUL: Final = frozenset(
    {OperationName.MUTATE, OperationName.LAST_SYNC_RESOURCE_VERSION, OperationName.ADD_INDEXERS}
)


def why_not(history: History, *, strict_errors: bool = False) -> str:
    """Return the reason why the just-in-time checker cannot judge ``history``; empty if it can. O(number of calls).

    Args:
        history: the calls.
        strict_errors: whether errors must be of kcache's types.
    """
    if history.may_evict:
        return "objects may disappear at any moment"
    indexes = frozenset(history.indexes)
    stamps: set[str] = set()
    for call in history.calls:
        if call.returned is None and not call.operation.is_write:
            continue
        reason = why_not_operation(call.operation, indexes, history.semantics, strict_errors=strict_errors)
        if reason:
            return reason
        for item in call.operation.written:
            if item.stamp in stamps:
                return f"the stamp {item.stamp!r} is written twice, so a result does not show which write it saw"
            stamps.add(item.stamp)
    return ""


def why_not_operation(
    operation: Operation, indexes: frozenset[str], semantics: Semantics, *, strict_errors: bool
) -> str:
    """Return the reason why a history with ``operation`` cannot be judged; empty if the operation is no obstacle."""
    if operation.name not in _DOUBTFUL:
        return ""
    match operation.name:
        case OperationName.MUTATE:
            return "objects are changed in place, without a call of the store"
        case OperationName.LAST_SYNC_RESOURCE_VERSION:
            return "resource versions are read, but they have no unique stamps"
        case OperationName.ADD_INDEXERS if not _surely_adds_nothing(operation, indexes, semantics, strict_errors):
            return "add_indexers may add indices"
        case _:
            return ""


def _surely_adds_nothing(
    operation: Operation, indexes: frozenset[str], semantics: Semantics, strict_errors: bool
) -> bool:
    """Whether the call has the same outcome and no effect in all states."""
    names = indexes.intersection(operation.names)
    if semantics is Semantics.CLASSIC:
        # On an empty store it raises a conflict, otherwise "indexers running": always an error, but of unknown kind.
        return bool(names) and not strict_errors
    return bool(names) or not operation.names
