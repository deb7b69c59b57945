"""list keeps its result for the next call, and hands out the very list that it keeps.

Listing is frequent and writes are rare, so the list is made once after each write; that callers may sort or clear what
they get was not thought of. Source: plausible; kubernetes PR #139658 shared a snapshot in this way. Betrayed by the
next list after a caller has cleared the first one.
"""

from __future__ import annotations

import builtins
from typing import Any, TypeVar

from textbook import TextbookIndexer, Values

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class LiveList(TextbookIndexer[T]):
    """Makes the list once after each write."""

    _listed: builtins.list[T] | None = None

    def list(self) -> builtins.list[T]:
        with self._reading():
            if self._listed is None:
                self._listed = list(self._items.values())
            return self._listed

    def _put(self, key: str, obj: T, values: Values) -> None:
        self._listed = None
        super()._put(key, obj, values)

    def _drop(self, key: str) -> None:
        self._listed = None
        super()._drop(key)

    def _fill(self, items: dict[str, T], values: dict[str, Values]) -> None:
        self._listed = None
        super()._fill(items, values)


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return LiveList(key_func, indexers, semantics)
