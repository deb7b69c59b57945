"""Rules that a wrong outcome of a call on an Indexer breaks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from ..outcomes import ErrorKind, Outcome
from .operations import Operation, OperationName
from .program import Program

_ACCEPTED: Final[Mapping[str, str]] = {
    ErrorKind.KEY_FUNC: "key-function-error-swallowed",
    ErrorKind.INDEX_FUNC: "index-function-error-swallowed",
    ErrorKind.INDEX_NOT_FOUND: "unknown-index-accepted",
    ErrorKind.INDEXER_CONFLICT: "indexer-conflict-accepted",
    ErrorKind.INDEXERS_RUNNING: "indexer-conflict-accepted",
    ErrorKind.TRANSACTION: "transaction-error-swallowed",
}
"""The expected error of a call -> the id of the rule that the call breaks if it raises no error."""

_LOOKUPS: Final = (OperationName.INDEX, OperationName.INDEX_KEYS, OperationName.BY_INDEX)

_RULES: Final[Mapping[OperationName, str]] = {
    OperationName.LAST_SYNC_RESOURCE_VERSION: "wrong-resource-version",
    OperationName.GET_INDEXERS: "wrong-result",
}


def rule_of_outcome(program: Program, expected: Outcome, observed: Outcome) -> str:
    """Return the id of the rule that the last call of a program breaks with ``observed`` instead of ``expected``."""
    *earlier, operation = program.operations()
    if observed.waits:
        return "lock-kept-after-error" if any(map(_fails, earlier)) else ""
    if expected.error is not None and observed.error is None:
        return _ACCEPTED.get(expected.error, "wrong-result")
    if observed.error is not None:
        return "unexpected-error"
    if isinstance(observed.value, str) and observed.value.startswith("<returned "):
        return _rule_of_type(operation, observed.value)
    if operation.is_write:
        return "wrong-result"
    return _RULES.get(operation.name) or _rule_of_content(operation.name, _listed(expected), _listed(observed))


def _fails(operation: Operation) -> bool:
    """Whether a function of the caller raises in a call: then a lock may be kept."""
    return any(item.key is None or None in item.values.values() for item in operation.given)


def _rule_of_type(operation: Operation, description: str) -> str:
    if "coroutine" in description or "Future" in description or "Task" in description:
        return "coroutine-returned"
    return "write-returns-value" if operation.is_write else "result-is-no-list"


def _listed(outcome: Outcome) -> tuple[str, ...]:
    if outcome.value is None:
        return ()
    return outcome.value if isinstance(outcome.value, tuple) else (outcome.value,)


def _rule_of_content(name: OperationName, expected: tuple[str, ...], observed: tuple[str, ...]) -> str:
    if any(text.startswith("<a copy of ") for text in observed):
        return "copies-returned"
    if set(expected) == set(observed):
        return "unsorted-keys" if Counter(expected) == Counter(observed) else "duplicate-results"
    missing, extra = set(expected) - set(observed), set(observed) - set(expected)
    if name is OperationName.LIST_INDEX_FUNC_VALUES:
        return "missing-index-entry" if missing else "empty-index-value-kept"
    if missing and extra and name is not OperationName.LIST_KEYS:
        return "older-version-returned"
    if name in _LOOKUPS:
        return "missing-index-entry" if missing else "stale-index-entry"
    return "object-missing" if missing else "removed-object-returned"
