"""An index function that returns None for "no values" makes the write fail.

Only lists were expected; in Go a nil slice is an empty one, and ports have to think of it. Source: plausible.
Betrayed by add of an object for which an index function returns None: TypeError.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import TextbookIndexer, Values

from kcache import Indexer, Indexers, IndexFuncError, KeyFunc

T = TypeVar("T")


class NoneValuesRefused(TextbookIndexer[T]):
    """Copies whatever it gets."""

    def _values_of(self, key: str | None, obj: T, indexers: Indexers[T]) -> Values:
        values = {}
        for name, func in indexers.items():
            try:
                returned: Any = func(obj)
                values[name] = tuple(dict.fromkeys(returned))
            except Exception as error:
                raise IndexFuncError(key, name, error) from error
        return values


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return NoneValuesRefused(key_func, indexers, semantics)
