"""Writes only mark the indices as stale, and the next read builds them, under the lock.

Correct. A call takes effect at any one moment while it holds the lock: it looks at the mark, builds, and reads in one
section, so the indices that it reads are those of the objects that it reads. The twins `index_ready_too_early` and
`index_ready_too_late` build without the lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from textbook import Index, TextbookIndexer, Values

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


def built(names: Iterable[str], values: Mapping[str, Values]) -> dict[str, Index]:
    """The indices of those names over objects with those values."""
    indices: dict[str, Index] = {name: {} for name in names}
    for key, indexed in values.items():
        for name, index_values in indexed.items():
            for value in index_values:
                indices[name].setdefault(value, set()).add(key)
    return indices


class LazyIndexIndexer(TextbookIndexer[T]):
    """Many writes in a row cost one rebuild."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        super().__init__(key_func, indexers, semantics)
        self._stale = False

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._lock:
            if self._stale:
                self._indices = built(self._indexers, self._values)
                self._stale = False
            yield

    def _fill(self, items: dict[str, T], values: dict[str, Values]) -> None:
        super()._fill(items, values)
        self._stale = True

    def _extend(self, added: Indexers[T], values: dict[str, Values]) -> None:
        super()._extend(added, values)
        self._stale = True

    def _link(self, key: str, values: Values) -> None:
        self._values[key] = values
        self._stale = True

    def _unlink(self, key: str) -> None:
        self._values.pop(key, None)
        self._stale = True


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return LazyIndexIndexer(key_func, indexers, semantics)
