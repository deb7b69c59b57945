"""The specification of an Indexer that may drop objects by itself, at any moment: a cache of limited size or time.

A state holds the objects that may be there: each may be gone already, and none that is gone comes back without a write.
Two contents that both explain what a call gave are explained by their union, too; so the largest one stands for all.
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
    """The specification under one of the two semantics, where objects may be evicted."""

    def effects(self, state: State, operation: Operation) -> Sequence[tuple[State, Outcome]]:
        """One for each outcome, whatever was evicted before it: what nothing is evicted for comes first."""
        if operation.is_write and operation.name is not OperationName.ADD_INDEXERS:
            return super().effects(state, operation)
        found: dict[Outcome, tuple[State, Outcome]] = {}
        for left in range(len(state.stored), -1, -1):
            for keys in itertools.combinations(state.stored, left):
                effect = self.apply(_with_only(state, keys), operation)
                found.setdefault(effect[1], effect)
        return tuple(found.values())

    def respond(self, state: State, operation: Operation, observed: Outcome | None) -> tuple[State, Outcome]:
        """The same effect that ``effects`` has for what was observed; the first one if it has none."""
        whole = self.apply(state, operation)
        if observed is None or observed == whole[1] or observed.error is not None:
            return whole
        gone = {*_texts(whole[1])} - {*_texts(observed)}
        is_refused = operation.name is OperationName.ADD_INDEXERS and whole[1].error is not None
        keys = [
            key
            for key, stored in state.stored.items()
            if not is_refused and gone.isdisjoint(_shown(key, stored, operation))
        ]
        found = self.apply(_with_only(state, keys), operation)
        return found if observed == found[1] else whole


def model_of(told: Program | History) -> IndexerModel:
    """The specification that decides a program or a history."""
    return (EvictingModel if told.may_evict else IndexerModel)(told.semantics)


def _with_only(state: State, keys: Iterable[str]) -> State:
    kept = {key: state.stored[key] for key in keys}
    return state if len(kept) == len(state.stored) else replace(state, stored=kept)


def _texts(outcome: Outcome) -> tuple[str, ...]:
    if outcome.value is None:
        return ()
    return outcome.value if isinstance(outcome.value, tuple) else (outcome.value,)


def _shown(key: str, stored: Stored, operation: Operation) -> Sequence[str]:
    """What a read gives because this object is there."""
    match operation.name:
        case OperationName.LIST_KEYS | OperationName.INDEX_KEYS:
            return (key,)
        case OperationName.LIST_INDEX_FUNC_VALUES:
            return stored.indexed.get(operation.index or "", ())
        case _:
            return (stored.item.stamp,)
