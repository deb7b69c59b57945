"""Callers queue their calls; one that gets the lock at once carries out all, any other waits to be served by that one.

The holder of the lock looks into the queue until it is empty, so it seems to serve all who come while it holds the
lock; but there is a moment between its last look and the release. Source: plausible; the lost wake-up of try-locks.
Broken by T1's call, which has seen the queue empty; T2's call, queued, finds the lock taken and waits; T1 releases.
Betrayed by T2's call, which never returns unless another one comes later. The correct twin is `combining`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from combining import Combiner
from owner_thread import Message, OwnerThreadIndexer

from kcache import Indexer, Indexers, KeyFunc

R = TypeVar("R")


class HurriedCombiner(Combiner):
    """Does not queue for the lock."""

    def ask(self, call: Callable[[], R]) -> R:
        message = Message(call)
        self._queued.append(message)
        if self._turn.acquire(blocking=False):
            try:
                self._carry_out_all()
            finally:
                self._turn.release()
        message.answered.wait()
        return message.outcome()


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return OwnerThreadIndexer(key_func, indexers, semantics, HurriedCombiner())
