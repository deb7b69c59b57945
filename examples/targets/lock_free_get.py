"""get and get_by_key read the dict of objects without the lock; all other calls hold it.

Correct. A write takes effect when it changes the dict of objects, which it does in exactly one step, under the lock: it
stores or pops one key, or (replace) assigns a new dict. A locked read sees no write half done. A lock-free one takes
effect at its dict look-up, or, if replace has exchanged the dict meanwhile, right before that: nobody writes to the old
dict any more. The twin `unlocked_get` shows what goes wrong with two steps.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import TextbookIndexer, Values

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class LockFreeGetIndexer(TextbookIndexer[T]):
    """Overwrites objects in place, where the textbook removes the old one first."""

    def get_by_key(self, key: str, default: Any = None) -> Any:
        return self._items.get(key, default)

    def _put(self, key: str, obj: T, values: Values) -> None:
        self._unlink(key)
        self._items[key] = obj
        self._link(key, values)


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return LockFreeGetIndexer(key_func, indexers, semantics)
