"""index collects the objects in a set, to have each of them once.

A set is what "each once" calls for, but only keys are known to be hashable: the models of the official Kubernetes
client define `__eq__` and no `__hash__`. Source: plausible. Betrayed by index when it finds such an object: TypeError.
"""

from __future__ import annotations

import builtins
from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class ObjectsInSets(TextbookIndexer[T]):
    """Needs hashable objects."""

    def index(self, index_name: str, obj: T, /) -> builtins.list[T]:
        with self._reading():
            index = self._existing(index_name)
            values = self._values_of(None, obj, {index_name: self._indexers[index_name]})[index_name]
            return list({self._items[key] for value in values for key in index.get(value, ())})


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return ObjectsInSets(key_func, indexers, semantics)
