"""Translation of calls that may change the store into writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...history import Call
from ...outcomes import ErrorKind, Outcome, raised
from ..items import Item
from ..operations import WRITES, OperationName, WriteKind
from .contents import ABSENT, Term
from .known import KnownStore
from .reads import Impossible
from .writes import Put, Replace, WideWrite, Write

_IndexValues = tuple[tuple[str, ...] | None, ...]
"""The results of the index functions, in the order of the indices; ``None`` if a function fails."""


class WriteTranslation:
    """Translation of writes, which also registers their versions; see :data:`WRITERS`.

    Args:
        store: the known indices and versions of the store; new versions are added to it.
    """

    def __init__(self, store: KnownStore) -> None:
        self._store = store
        self._indexes = store.indexes
        self._terms_by_values: dict[_IndexValues, tuple[Term, ...] | None] = {}

    def forget(self) -> None:
        """Clear the cache of index values."""
        self._terms_by_values.clear()

    def _single_write(self, position: int, call: Call) -> Write | Impossible | None:
        item, outcome = call.operation.item, call.outcome
        assert item is not None, f"{call.operation.name} needs an item"
        key, terms = item.key, self._terms(item)
        if key is None or terms is None:
            return self._constant(position, call)
        if outcome is not None and (outcome.value is not None or outcome.error is not None):
            return Impossible(position, call)
        return Put(position, call, key, self._store.new(key, item.stamp, terms, call))

    def _delete(self, position: int, call: Call) -> Write | Impossible | None:
        item = call.operation.item
        assert item is not None, "delete needs an item"
        if item.key is None:
            return self._constant(position, call)
        return Put(position, call, item.key, ABSENT) if _succeeded(call.outcome) else Impossible(position, call)

    def _replace(self, position: int, call: Call) -> Write | Impossible | None:
        last_of_key: dict[str, tuple[Item, tuple[Term, ...]]] = {}
        for key, item in {item.key: item for item in call.operation.items}.items():
            terms = self._terms(item)
            if key is None or terms is None:
                return self._constant(position, call)
            last_of_key[key] = item, terms
        if not _succeeded(call.outcome):
            return Impossible(position, call)
        effect = {key: self._store.new(key, item.stamp, terms, call) for key, (item, terms) in last_of_key.items()}
        return Replace(position, call, effect, self._indexes)

    def _transaction(self, position: int, call: Call) -> Write | Impossible | None:
        last_of_key: dict[str, tuple[Item, tuple[Term, ...]] | None] = {}
        failed = False
        for kind, item in call.operation.entries:
            terms = () if kind is WriteKind.DELETE else self._terms(item)
            if item.key is None or terms is None:
                failed = True
            else:
                last_of_key[item.key] = None if kind is WriteKind.DELETE else (item, terms)
        if not last_of_key:
            return self._constant(position, call)
        expected = raised(ErrorKind.TRANSACTION) if failed else Outcome()
        strict_errors = self._store.strict_errors
        if call.outcome is not None and not call.outcome.agrees_with(expected, strict_errors=strict_errors):
            return Impossible(position, call)
        effect = {
            key: ABSENT if stored is None else self._store.new(key, stored[0].stamp, stored[1], call)
            for key, stored in last_of_key.items()
        }
        if len(effect) == 1:
            return Put(position, call, *effect.popitem())
        return WideWrite(position, call, effect)

    def _constant(self, position: int, call: Call) -> Impossible | None:
        return self._store.constant(position, call)

    def _terms(self, item: Item) -> tuple[Term, ...] | None:
        """The index values of ``item``, each once; ``None`` if an index function fails."""
        by_index = item.values
        values = tuple([by_index.get(name, ()) for name in self._indexes])
        try:
            return self._terms_by_values[values]
        except KeyError:
            terms = self._terms_by_values[values] = self._distinct_terms(values)
            return terms

    def _distinct_terms(self, values_of_indexes: _IndexValues) -> tuple[Term, ...] | None:
        terms: dict[Term, None] = {}
        for name, values in zip(self._indexes, values_of_indexes, strict=True):
            if values is None:
                return None
            for value in values:
                terms[name, value] = None
        return tuple(terms)


def _succeeded(outcome: Outcome | None) -> bool:
    """Whether a write that cannot fail has the correct outcome, or is pending."""
    return outcome is None or (outcome.value is None and outcome.error is None)


WRITERS: Final[dict[OperationName, Callable[[WriteTranslation, int, Call], Write | Impossible | None]]] = {
    **dict.fromkeys(WRITES, WriteTranslation._constant),
    OperationName.ADD: WriteTranslation._single_write,
    OperationName.UPDATE: WriteTranslation._single_write,
    OperationName.DELETE: WriteTranslation._delete,
    OperationName.REPLACE: WriteTranslation._replace,
    OperationName.TRANSACTION: WriteTranslation._transaction,
}
"""Operation that may change the store -> its translation, which returns ``None`` for a correct call without effect."""
