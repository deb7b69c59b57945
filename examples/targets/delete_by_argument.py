"""delete removes the index entries of the object it is given, not those of the object stored.

The argument is at hand and usually equal to what is stored; but a watch reports a deletion with the last state, and a
caller may pass any object with that key. Source: plausible. Betrayed by deleting with another version of the object:
the key stays in the index.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class DeleteByArgument(TextbookIndexer[T]):
    """Trusts that whoever deletes knows the stored values."""

    def delete(self, obj: T, /) -> None:
        key = self._key_of(obj)
        with self._writing():
            if key in self._items:
                self._values[key] = self._values_of(key, obj, self._indexers)
                self._drop(key)


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return DeleteByArgument(key_func, indexers, semantics)
