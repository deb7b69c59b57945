"""The specification of an Indexer that may drop objects by itself, at any moment: a cache of limited size or time.

A state contains the objects that may be stored. Each may already be evicted; an evicted object does not come back
without a write. If two contents both explain the result of a call, then their union explains it, too; so the largest
content represents all of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..outcomes import Outcome
from .indexer_model import IndexerModel, State, Stored
from .operations import Operation, OperationName
from .program import History, Program


@dataclass(frozen=True)
class EvictingModel(IndexerModel):
    """The specification under one of the two semantics, if objects may be evicted."""

    def effects(self, state: State, operation: Operation) -> Sequence[tuple[State, Outcome]]:
        """One effect for each possible outcome, over all evictions before the call; the first evicts nothing.

        Exponential in the number of stored objects.
        """
        if operation.is_write and operation.name is not OperationName.ADD_INDEXERS:
            return super().effects(state, operation)
        by_outcome: dict[Outcome, tuple[State, Outcome]] = {}
        for count in range(len(state.stored), -1, -1):
            for keys in itertools.combinations(state.stored, count):
                effect = self.apply(_with_only(state, keys), operation)
                by_outcome.setdefault(effect[1], effect)
        return tuple(by_outcome.values())

    def respond(self, state: State, operation: Operation, observed: Outcome | None) -> tuple[State, Outcome]:
        """The effect with the outcome ``observed``, as in ``effects``.

        If no effect has this outcome, or if it is an error, return the effect without evictions.
        """
        whole = self.apply(state, operation)
        if observed is None or observed == whole[1] or observed.error is not None:
            return whole
        gone = {*_texts(whole[1])} - {*_texts(observed)}
        is_refused = operation.name is OperationName.ADD_INDEXERS and whole[1].error is not None
        keys = [
            key
            for key, stored in state.stored.items()
            if not is_refused and gone.isdisjoint(_texts_of(key, stored, operation))
        ]
        effect = self.apply(_with_only(state, keys), operation)
        return effect if observed == effect[1] else whole


def model_of(judged: Program | History) -> IndexerModel:
    """The specification that judges a program or a history."""
    return (EvictingModel if judged.may_evict else IndexerModel)(judged.semantics)


def _with_only(state: State, keys: Iterable[str]) -> State:
    retained = {key: state.stored[key] for key in keys}
    return state if len(retained) == len(state.stored) else replace(state, stored=retained)


def _texts(outcome: Outcome) -> tuple[str, ...]:
    if outcome.value is None:
        return ()
    return outcome.value if isinstance(outcome.value, tuple) else (outcome.value,)


def _texts_of(key: str, stored: Stored, operation: Operation) -> Sequence[str]:
    """The texts that a read returns because this object is stored: its key, index values or stamp."""
    match operation.name:
        case OperationName.LIST_KEYS | OperationName.INDEX_KEYS:
            return (key,)
        case OperationName.LIST_INDEX_FUNC_VALUES:
            return stored.indexed.get(operation.index or "", ())
        case _:
            return (stored.item.stamp,)
