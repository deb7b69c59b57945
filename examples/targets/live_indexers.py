"""get_indexers hands out the dict that the store itself works with.

Go has no read-only maps, and Python programmers seldom use one: returning the attribute is what everyone writes first.
Source: client-go does so, see kubernetes#133788. Betrayed by changing the result: the store has lost, or gained, an
index function behind its own back.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class LiveIndexers(TextbookIndexer[T]):
    """Does not copy."""

    def get_indexers(self) -> Indexers[T]:
        with self._reading():
            return self._indexers


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return LiveIndexers(key_func, indexers, semantics)
