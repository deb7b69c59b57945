"""Callers that ask by_index for the same at the same time share one lookup, unless a write came in between.

Correct. A write takes effect while it holds the lock, and takes all lookups under way off the table. So no write ended
between the start of a lookup and the moment when somebody joined it: for one who joins, the lookup takes effect when it
reads the store, if that is still to come, else when it is joined, since nothing has changed. The twin `joined_too_late`
leaves lookups on the table.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from owner_thread import Message
from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class SharedLookupsIndexer(TextbookIndexer[T]):
    """Lookups under way, by what they look for."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        super().__init__(key_func, indexers, semantics)
        self._under_way: dict[tuple[str, str], Message[builtins.list[T]]] = {}

    def by_index(self, index_name: str, index_value: str, /) -> builtins.list[T]:
        wanted = (index_name, index_value)
        with self._lock:
            shared = self._under_way.get(wanted)
            if shared is None:
                mine = Message(lambda: super(SharedLookupsIndexer, self).by_index(index_name, index_value))
                self._under_way[wanted] = mine
        if shared is None:
            shared = mine
            mine.carry_out()
            with self._lock:
                if self._under_way.get(wanted) is mine:
                    del self._under_way[wanted]
        shared.answered.wait()
        return list(shared.outcome())

    def _writing(self) -> AbstractContextManager[object]:
        return self._alone()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._lock:
            self._under_way.clear()
            yield


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return SharedLookupsIndexer(key_func, indexers, semantics)
