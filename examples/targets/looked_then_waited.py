"""A lock of its own making that looks whether it is taken, and waits for news, in two sections of its condition.

The news that come between the two find nobody asleep. Source: plausible; a signal is not remembered, unlike an event.
Broken by T1's update, inside; T2's by_index, which looks: taken; T1 leaves and notifies nobody; T2 goes to sleep. Any
call that comes later wakes it again, so only the last ones hang. Betrayed by a call that never returns.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class Turnstile:
    """One at a time."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._taken = False

    @contextmanager
    def inside(self) -> Iterator[None]:
        while not self._entered():
            with self._changed:
                self._changed.wait()
        try:
            yield
        finally:
            with self._changed:
                self._taken = False
                self._changed.notify_all()

    def _entered(self) -> bool:
        with self._changed:
            if self._taken:
                return False
            self._taken = True
            return True


class LookedThenWaited(TextbookIndexer[T]):
    """The textbook behind a turnstile."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        super().__init__(key_func, indexers, semantics)
        self._turnstile = Turnstile()

    def _reading(self) -> AbstractContextManager[object]:
        return self._turnstile.inside()

    def _writing(self) -> AbstractContextManager[object]:
        return self._turnstile.inside()


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return LookedThenWaited(key_func, indexers, semantics)
