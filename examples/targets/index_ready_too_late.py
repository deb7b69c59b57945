"""Indices are built by the read that needs them, without the lock, and marked as ready when they are.

A write during the build marks them as stale, and the builder, who knows nothing of it, unmarks them. Source: plausible;
the flag should say which state the indices are ready for. Broken after add by T1's by_index, which builds; T2's add of
another key, from beginning to end; T1 publishes and marks. Betrayed by by_index until the next write: it does not find
the second object, or names one that is gone. The correct twin is `lazy_index`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from lazy_index import LazyIndexIndexer, built

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class IndexReadyTooLate(LazyIndexIndexer[T]):
    """Builds, publishes, marks."""

    @contextmanager
    def _reading(self) -> Iterator[None]:
        while True:
            with self._lock:
                if not self._stale:
                    yield
                    return
                names, values = list(self._indexers), dict(self._values)
            indices = built(names, values)
            with self._lock:
                self._indices = indices
                self._stale = False


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return IndexReadyTooLate(key_func, indexers, semantics)
