"""Models of Indexers, made from arguments that CrossHair can make symbolic: keys and index values."""

from __future__ import annotations

import enum

from kcache_model.indexers.indexer_model import IndexerModel, State
from kcache_model.indexers.items import Item
from kcache_model.indexers.operations import Operation, add
from kcache_model.outcomes import Value

MODEL = IndexerModel()
INDEX = "tags"


class Key(enum.StrEnum):
    """A few keys: few enough that CrossHair can go through all of them. Index values stay symbolic."""

    A = "a"
    B = "b"
    C = "c"


class Word(enum.StrEnum):
    """A few index values, for laws that compare them."""

    EMPTY = ""
    X = "x"
    XY = "xy"


def item(key: str | None, stamp: str, *values: str, version: str | None = None) -> Item:
    """An object with these values under the only index."""
    return Item(None if key is None else str(key), stamp, {INDEX: values}, version)


def after(state: State, *operations: Operation) -> State:
    """The state after the operations."""
    for operation in operations:
        state, _ = MODEL.apply(state, operation)
    return state


def answer(state: State, operation: Operation) -> Value:
    """What a lookup returns."""
    return MODEL.apply(state, operation)[1].value


def found(state: State, operation: Operation) -> tuple[str, ...]:
    """What a lookup that returns several returns."""
    value = answer(state, operation)
    assert isinstance(value, tuple), operation
    return value


def items(content: list[tuple[str, str]], stamp: str) -> list[Item]:
    """Objects with these keys and index values; their stamps are numbered."""
    return [item(key, f"{stamp}{number}", value) for number, (key, value) in enumerate(content)]


def holding(*content: tuple[str, str]) -> State:
    """The state after adding the objects ``v0``, ``v1`` ... with these keys and index values."""
    return after(MODEL.initial([INDEX]), *map(add, items(list(content), "v")))
