"""get and get_by_key take no lock, although a write first removes the old object and then stores the new one.

One look-up in a dict is atomic, so get is safe on its own; whether every state it may see is one that should be seen
depends on how the writers write. Source: plausible; compare the twin `lock_free_get`. Betrayed by get_by_key during the
update of an object that is stored all the time: it is not found.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class UnlockedGet(TextbookIndexer[T]):
    """Relies on the dict alone."""

    def get_by_key(self, key: str, default: Any = None) -> Any:
        return self._items.get(key, default)


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return UnlockedGet(key_func, indexers, semantics)
