"""Each group of keys has a lock of its own, but the sets of the indices belong to all groups.

Two writers of different keys do not wait for each other, and objects of different keys do not meet, except where they
share an index value: two writers make the set of a new value at the same time, or one deletes a set that has become
empty while another is about to add to it. Source: plausible; striped locks are right for a plain map. Betrayed by a
KeyError, or by by_index afterwards: an object is missing for good.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, TypeVar

from textbook import Index, TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")

_STRIPES = 8


class StripedLocks(TextbookIndexer[T]):
    """One stripe for a call about one key, all of them for any other call."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        super().__init__(key_func, indexers, semantics)
        self._stripes = [threading.Lock() for _ in range(_STRIPES)]

    def _stripe(self, key: str) -> AbstractContextManager[object]:
        return self._stripes[sum(map(ord, key)) % _STRIPES]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with ExitStack() as stack:
            for stripe in self._stripes:
                stack.enter_context(stripe)
            yield

    def _reading(self) -> AbstractContextManager[object]:
        return self._writing()

    def add(self, obj: T, /) -> None:
        key = self._key_of(obj)
        with self._stripe(key):
            self._put(key, obj, self._values_of(key, obj, self._indexers))

    def delete(self, obj: T, /) -> None:
        key = self._key_of(obj)
        with self._stripe(key):
            self._drop(key)

    def _enter(self, index: Index, value: str, key: str) -> None:
        if value not in index:
            index[value] = set()
        index[value].add(key)

    def get_by_key(self, key: str, default: Any = None) -> Any:
        with self._stripe(key):
            return self._items.get(key, default)


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return StripedLocks(key_func, indexers, semantics)
