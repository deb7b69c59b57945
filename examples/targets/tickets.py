"""add draws a ticket, computes index values without the lock, and stores unless a newer ticket has written the key.

Correct. A write that stores takes effect while it holds the lock. An add that finds a newer ticket takes effect right
before the write with that ticket: it had drawn its own before the other one was drawn, so both were under way. Tickets
stay when their objects go, else an old add could undo a delete; replace and delete draw theirs under the lock, so they
are newer than all that was drawn. If add_indexers came in between, the values are computed again, under the lock.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar

from textbook import TextbookIndexer, Values

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class TicketedIndexer(TextbookIndexer[T]):
    """The last ticket wins, whoever comes last."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        super().__init__(key_func, indexers, semantics)
        self._drawing = threading.Lock()
        self._drawn = 0
        self._newest: dict[str, int] = {}
        self._replaced = 0

    def add(self, obj: T, /) -> None:
        key = self._key_of(obj)
        ticket = self._draw()
        indexers = self._indexers
        values = self._values_of(key, obj, indexers)
        with self._writing():
            if self._indexers is not indexers:
                values = self._values_of(key, obj, self._indexers)
            if ticket > max(self._newest.get(key, 0), self._replaced):
                self._newest[key] = ticket
                self._put(key, obj, values)

    def delete(self, obj: T, /) -> None:
        key = self._key_of(obj)
        with self._writing():
            self._newest[key] = self._draw()
            self._drop(key)

    def _fill(self, items: dict[str, T], values: dict[str, Values]) -> None:
        self._replaced = self._draw()
        self._newest = {}
        super()._fill(items, values)

    def _draw(self) -> int:
        with self._drawing:
            self._drawn += 1
            return self._drawn


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return TicketedIndexer(key_func, indexers, semantics)
