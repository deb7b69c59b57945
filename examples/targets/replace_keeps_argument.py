"""replace keeps the caller's list as the answer to the next calls of list.

After a relist the objects are already in a list, so why make another? Because it still belongs to the caller. Source:
plausible; client-go's ThreadSafeStore keeps the caller's map. Betrayed by list after the caller has cleared what it had
passed.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Any, TypeVar

from textbook import TextbookIndexer, Values

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class ReplaceKeepsArgument(TextbookIndexer[T]):
    """Lists what it was given, until something else is written."""

    _listed: builtins.list[T] | None = None

    def replace(self, objs: Iterable[T], resource_version: str = "", /) -> None:
        with self._writing():
            given = objs if isinstance(objs, builtins.list) else list(objs)
            super().replace(given, resource_version)
            self._listed = given if len(given) == len(self._items) else None

    def list(self) -> builtins.list[T]:
        with self._reading():
            return list(self._items.values() if self._listed is None else self._listed)

    def _put(self, key: str, obj: T, values: Values) -> None:
        self._listed = None
        super()._put(key, obj, values)

    def _drop(self, key: str) -> None:
        self._listed = None
        super()._drop(key)


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return ReplaceKeepsArgument(key_func, indexers, semantics)
