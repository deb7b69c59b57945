"""Callers queue their calls, and whoever gets the lock carries out all that are queued, also those of others.

Correct. A call takes effect when somebody carries it out, one at a time under the lock. When its own caller gets the
lock the call was carried out by an earlier holder, or is still in the queue and is carried out now: so it is done
before its caller returns, and nobody waits for anything but the lock. The twin `combiner_passed_by` does not wait for
the lock.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from owner_thread import Message, Owner, OwnerThreadIndexer

from kcache import Indexer, Indexers, KeyFunc

R = TypeVar("R")


class Combiner(Owner):
    """An owner without a thread. Key and index functions must not call the store."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._queued: deque[Message[Any]] = deque()

    def ask(self, call: Callable[[], R]) -> R:
        message = Message(call)
        self._queued.append(message)
        with self._turn:
            self._carry_out_all()
        return message.outcome()

    def close(self) -> None:
        """Nothing to stop."""

    def _carry_out_all(self) -> None:
        while self._queued:
            self._queued.popleft().carry_out()


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return OwnerThreadIndexer(key_func, indexers, semantics, Combiner())
