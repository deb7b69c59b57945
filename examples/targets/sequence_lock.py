"""A sequence lock: readers take no lock, but look again if a write began meanwhile, and give up after a few times.

Correct. A write takes effect at any moment while it holds the lock. A reader finds that all writes which ever began
have ended, looks around, and then finds that no other has begun: in between the store stood still, and that is when the
read takes effect. Whatever it saw or ran into otherwise is thrown away; after some vain attempts it takes the lock.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")
R = TypeVar("R")

_ATTEMPTS = 3


class SequenceLockIndexer(TextbookIndexer[T]):
    """The textbook, with optimistic readers. Index functions may be called more than once for one call of index."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        super().__init__(key_func, indexers, semantics)
        self._begun = 0
        self._ended = 0

    def _reading(self) -> AbstractContextManager[object]:
        return nullcontext()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._lock:
            self._begun += 1
            try:
                yield
            finally:
                self._ended += 1

    def _read(self, look: Callable[[], R]) -> R:
        for _ in range(_ATTEMPTS):
            begun = self._begun
            if self._ended == begun:
                try:
                    found = look()
                except Exception:
                    if self._begun == begun:
                        raise
                else:
                    if self._begun == begun:
                        return found
        with self._lock:
            return look()

    def get_by_key(self, key: str, default: Any = None) -> Any:
        return self._read(lambda: super(SequenceLockIndexer, self).get_by_key(key, default))

    def list(self) -> builtins.list[T]:
        return self._read(super().list)

    def list_keys(self) -> builtins.list[str]:
        return self._read(super().list_keys)

    def index(self, index_name: str, obj: T, /) -> builtins.list[T]:
        return self._read(lambda: super(SequenceLockIndexer, self).index(index_name, obj))

    def index_keys(self, index_name: str, index_value: str, /) -> builtins.list[str]:
        return self._read(lambda: super(SequenceLockIndexer, self).index_keys(index_name, index_value))

    def by_index(self, index_name: str, index_value: str, /) -> builtins.list[T]:
        return self._read(lambda: super(SequenceLockIndexer, self).by_index(index_name, index_value))

    def list_index_func_values(self, index_name: str, /) -> builtins.list[str]:
        return self._read(lambda: super(SequenceLockIndexer, self).list_index_func_values(index_name))

    def get_indexers(self) -> Indexers[T]:
        return self._read(super().get_indexers)


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return SequenceLockIndexer(key_func, indexers, semantics)
