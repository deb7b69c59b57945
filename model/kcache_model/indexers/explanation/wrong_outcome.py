"""Wrong outcomes: results that a call cannot have for any content of the store, without an argument about order."""

from __future__ import annotations

from collections.abc import Mapping

from ...anomaly import Anomaly
from ...history import Call
from ...render import brief_text, name_text, outcome_text, result_text
from ..indexer_model import IndexerModel
from ..just_in_time.contents import Version
from ..operations import Operation, OperationName
from ..program import History


def wrong_outcome(
    history: History, call: Call, versions: Mapping[str, Version], *, strict_errors: bool = False
) -> tuple[Anomaly, str]:
    """Return the class of the anomaly, and a description of the error in the outcome of ``call``.

    Args:
        history: the calls.
        call: the call; it has returned.
        versions: stamp -> version, for all versions that were written.
        strict_errors: whether errors must be of the expected type.
    """
    outcome, text = call.outcome, brief_text(call.operation)
    assert outcome is not None
    model = IndexerModel(history.semantics)
    _, due = model.apply(model.initial(history.indexes), call.operation)
    gave = f"{text} {result_text(outcome)}"
    if due.error is not None and not strict_errors:
        return Anomaly.WRONG_OUTCOME, f"{gave}; it must fail, whatever the store holds"
    if due.error is not None or call.operation.is_write or _has_no_values(call.operation):
        return Anomaly.WRONG_OUTCOME, f"{gave}; expected: {outcome_text(due)}, whatever the store holds"
    if outcome.error is not None:
        return Anomaly.WRONG_OUTCOME, f"{gave}; it must not fail, whatever the store holds"
    stamps = outcome.value if isinstance(outcome.value, tuple) else (outcome.value,)
    if call.operation.name not in _KEYS:
        for stamp in stamps:
            strange = _strange(call, stamp, versions)
            if strange is not None:
                anomaly, why = strange
                return anomaly, f"{gave}, but {why}"
    if isinstance(outcome.value, tuple) and len(set(outcome.value)) < len(outcome.value):
        return Anomaly.WRONG_OUTCOME, f"{gave}, with duplicates"
    if isinstance(outcome.value, tuple) and list(outcome.value) != sorted(outcome.value):
        return Anomaly.WRONG_OUTCOME, f"{gave}, which is not sorted"
    if isinstance(outcome.value, tuple) == (call.operation.name in _SINGLE):
        kind = "one object or none" if call.operation.name in _SINGLE else "a list"
        return Anomaly.WRONG_OUTCOME, f"{gave}; it must return {kind}"
    return Anomaly.WRONG_OUTCOME, f"{gave}, which is impossible, whatever the store holds"


_SINGLE = frozenset({OperationName.GET, OperationName.GET_BY_KEY})

_KEYS = frozenset({OperationName.LIST_KEYS, OperationName.INDEX_KEYS, OperationName.LIST_INDEX_FUNC_VALUES})


def _has_no_values(operation: Operation) -> bool:
    """Whether the operation is an ``index`` call with an object without index values; its result is always empty."""
    item = operation.item
    return operation.name is OperationName.INDEX and item is not None and item.values.get(operation.index or "") == ()


def _strange(call: Call, stamp: str | None, versions: Mapping[str, Version]) -> tuple[Anomaly, str] | None:
    """Return the anomaly and the reason why the call cannot return the object with this stamp; ``None`` if it can."""
    if stamp is None:
        return None
    name, version = name_text(stamp), versions.get(stamp)
    if version is None:
        return Anomaly.PHANTOM, f"no successful write that had begun before wrote {name}"
    if version.written > (call.returned or 0):
        return Anomaly.PHANTOM, f"the write of {name} began only later"
    operation = call.operation
    key = operation.key if operation.item is None else operation.item.key
    if operation.name in (OperationName.GET, OperationName.GET_BY_KEY) and version.key != key:
        return Anomaly.PHANTOM, f"{name} is the object of another key: {name_text(version.key)}"
    if operation.name in (OperationName.BY_INDEX, OperationName.INDEX):
        return _elsewhere(call, version, versions)
    return None


def _elsewhere(call: Call, version: Version, versions: Mapping[str, Version]) -> tuple[Anomaly, str] | None:
    """Return the anomaly and the reason if ``version`` is not indexed under the value that the call looks up."""
    operation = call.operation
    index, item = operation.index or "", operation.item
    looked_up = (operation.value or "",) if item is None else item.values.get(index) or ()
    wanted = {(index, value) for value in looked_up}
    if wanted.intersection(version.terms):
        return None
    values = [name_text(value) for name, value in version.terms if name == index]
    why = f"{name_text(version.stamp)} is under {', '.join(values) or 'no value'} of {name_text(index)}"
    others = [
        other.stamp
        for other in versions.values()
        if other.key == version.key and other.written <= (call.returned or 0) and wanted.intersection(other.terms)
    ]
    if not others:
        return Anomaly.PHANTOM, why
    return Anomaly.GHOST_INDEX_VALUE, f"{why}; {name_text(others[-1])}, of the same key, was under it"
