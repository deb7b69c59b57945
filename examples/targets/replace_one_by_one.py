"""replace empties the store and adds one object after the other, until one of them fails.

It is built from calls that exist, under one lock, so no other thread sees it half done; but an error does not undo what
came before it. Source: plausible; client-go computes all keys first. Betrayed by list after a replace in which the key
function failed: the old objects are gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class ReplaceOneByOne(TextbookIndexer[T]):
    """Clears and adds."""

    def replace(self, objs: Iterable[T], _resource_version: str = "", /) -> None:
        with self._writing():
            self._fill({}, {})
            for obj in objs:
                self.add(obj)


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return ReplaceOneByOne(key_func, indexers, semantics)
