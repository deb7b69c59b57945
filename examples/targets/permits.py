"""A semaphore with some permits: a reader takes one of them, a writer all, and one writer at a time collects them.

Correct. A writer that has all permits is alone, and a reader that has one keeps every writer from having all; so a call
takes effect at any one moment while it has its permits. No deadlock: a reader never waits for a second permit, and only
one writer at a time holds some and waits for more. The twin `permits_one_by_one` has no such lock for writers.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")

_PERMITS = 3
"""The most readers at a time."""


class PermitsIndexer(TextbookIndexer[T]):
    """The textbook behind a semaphore. Key and index functions must not call the store."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        super().__init__(key_func, indexers, semantics)
        self._permits = threading.Semaphore(_PERMITS)
        self._collecting: AbstractContextManager[object] = threading.Lock()

    def _reading(self) -> AbstractContextManager[object]:
        return self._permits

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with ExitStack() as stack:
            with self._collecting:
                for _ in range(_PERMITS):
                    stack.enter_context(self._permits)
            yield


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return PermitsIndexer(key_func, indexers, semantics)
