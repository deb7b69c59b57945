"""get takes an object that is false for a missing one.

`found or default` is shorter than to ask for None, and right until someone stores an object with a length of 0.
Source: plausible. Betrayed by get and get_by_key, which return the default although list shows the object.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class FalsyObjectsMissing(TextbookIndexer[T]):
    """Confuses false with absent."""

    def get_by_key(self, key: str, default: Any = None) -> Any:
        with self._reading():
            return self._items.get(key) or default


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return FalsyObjectsMissing(key_func, indexers, semantics)
