"""Invariants of an Indexer, checked when the threads have ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kcache_model.indexers.driver import Driver
from kcache_model.indexers.invariants import broken_rules
from kcache_model.indexers.operations import OperationName
from kcache_model.indexers.target import Target
from kcache_model.outcomes import error_text
from kcache_model.rules import BrokenRule


def broken_afterwards(driver: Driver, target: Target) -> list[BrokenRule]:
    """Return the invariants that the driver's Indexer breaks; indices that were added later are checked as well.

    If reading the Indexer raises an error, the result is the rule ``unexpected-error``.
    """
    indexes = set(driver.indexes)
    try:
        if target.supports(OperationName.GET_INDEXERS):
            indexes |= set(driver.indexer.get_indexers())
        observable = target.observable(sorted(indexes))
        if observable is None:
            return []
        found = broken_rules(driver.indexer, observable, _values_of, driver.identify, may_evict=target.may_evict)
        return [broken for broken in found if target.asks_order or broken.rule != "unsorted-keys"]
    except Exception as error:
        return [BrokenRule("unexpected-error", f"reading everything back raised {error_text(error)}")]


def _values_of(obj: Any, index: str) -> Sequence[str] | None:
    values: Sequence[str] | None = obj.values.get(index, ())
    return values
