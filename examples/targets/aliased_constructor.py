"""The constructor keeps the caller's dict of index functions.

Nothing goes wrong while each caller writes the dict in the call. Source: client-go does so; its constructor once even
ignored what it was given (kubernetes#19583). Betrayed when the caller empties its dict, or uses it for a second store:
objects are no longer indexed.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class AliasedConstructor(TextbookIndexer[T]):
    """Shares its index functions with whoever made it."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        super().__init__(key_func, indexers, semantics)
        self._indexers = indexers


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return AliasedConstructor(key_func, indexers, semantics)
