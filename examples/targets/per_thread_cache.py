"""Each thread keeps the objects that it has read, until it writes something itself.

threading.local needs no lock, and a thread always sees its own writes; those of the others it sees when it happens to
write. Source: plausible; caches per thread or per request. Betrayed by get_by_key after another thread's write has
returned: it still returns the object from before.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar

from textbook import TextbookIndexer, Values

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")

_ABSENT = object()


class PerThreadCache(TextbookIndexer[T]):
    """Spares the lock for objects that this thread has seen before."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        super().__init__(key_func, indexers, semantics)
        self._mine = threading.local()

    def get_by_key(self, key: str, default: Any = None) -> Any:
        seen = self._seen()
        if key not in seen:
            seen[key] = super().get_by_key(key, _ABSENT)
        return default if seen[key] is _ABSENT else seen[key]

    def _seen(self) -> dict[str, Any]:
        if not hasattr(self._mine, "seen"):
            self._mine.seen = {}
        seen: dict[str, Any] = self._mine.seen
        return seen

    def _put(self, key: str, obj: T, values: Values) -> None:
        self._seen().clear()
        super()._put(key, obj, values)

    def _drop(self, key: str) -> None:
        self._seen().clear()
        super()._drop(key)

    def _fill(self, items: dict[str, T], values: dict[str, Values]) -> None:
        self._seen().clear()
        super()._fill(items, values)


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return PerThreadCache(key_func, indexers, semantics)
