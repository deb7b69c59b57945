"""delete of a key that is not stored raises a KeyError.

`del items[key]` is how Python deletes. The interface wants no error, because a deletion may be reported twice. Source:
plausible. Betrayed by the second delete of an object.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class DeleteMissingRaises(TextbookIndexer[T]):
    """Deletes as a dict does."""

    def delete(self, obj: T, /) -> None:
        key = self._key_of(obj)
        with self._writing():
            del self._items[key]
            self._unlink(key)


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return DeleteMissingRaises(key_func, indexers, semantics)
