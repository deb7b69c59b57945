"""index takes the lock once for each value of its argument, and puts the results together.

Each part is right at its own moment, the whole at none. Source: plausible; the loop around a safe call. Broken after
add of an object under the second of two values by T2's index for both, which has looked under the first; T1's update,
which moves the object from the second to the first; T2 looks under the second. Betrayed by index, which misses an
object that is under one of the values all the time.
"""

from __future__ import annotations

import builtins
from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class LookupValueByValue(TextbookIndexer[T]):
    """Holds the lock often, but never long."""

    def index(self, index_name: str, obj: T, /) -> builtins.list[T]:
        with self._reading():
            self._existing(index_name)
            func = self._indexers[index_name]
        found: dict[str, T] = {}
        for value in self._values_of(None, obj, {index_name: func})[index_name]:
            with self._reading():
                found.update({key: self._items[key] for key in self._keys_under(index_name, value)})
        return list(found.values())


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return LookupValueByValue(key_func, indexers, semantics)
