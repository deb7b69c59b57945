"""Invariants of an Indexer, checked when the threads have ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..outcomes import error_text
from ..rules import BrokenRule
from .driver import Driver
from .invariants import broken_rules
from .operations import OperationName
from .target import Target


def broken_afterwards(driver: Driver, target: Target) -> list[BrokenRule]:
    """Return the invariants that the driver's Indexer breaks; indices that were added later are checked as well.

    If reading the Indexer raises an error, the result is the rule ``unexpected-error``.
    """
    indexes = set(driver.indexes)
    try:
        if target.supports(OperationName.GET_INDEXERS):
            indexes |= set(driver.made.get_indexers())
        observable = target.observable(sorted(indexes))
        if observable is None:
            return []
        rules = broken_rules(driver.made, observable, _values_of, driver.identify, may_evict=target.may_evict)
        return [broken for broken in rules if target.asks_order or broken.rule != "unsorted-keys"]
    except Exception as error:
        return [BrokenRule("unexpected-error", f"reading the content after the calls raised {error_text(error)}")]


def _values_of(obj: Any, index: str) -> Sequence[str] | None:
    values: Sequence[str] | None = obj.values.get(index, ())
    return values
