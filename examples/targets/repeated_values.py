"""An index function that returns a value twice makes delete and update fail.

The value is entered twice into a set, where it counts once, and taken out twice. Source: plausible; client-go v0.23.0
loses such an entry. Betrayed by a KeyError of delete, and by the index entries that it did not reach.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import Index, TextbookIndexer, Values

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class RepeatedValues(TextbookIndexer[T]):
    """Takes the values as they come."""

    def _values_of(self, key: str | None, obj: T, indexers: Indexers[T]) -> Values:
        super()._values_of(key, obj, indexers)  # for its errors
        return {name: tuple(func(obj) or ()) for name, func in indexers.items()}

    def _leave(self, index: Index, value: str, key: str) -> None:
        index[value].remove(key)
        if not index[value]:
            del index[value]


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return RepeatedValues(key_func, indexers, semantics)
