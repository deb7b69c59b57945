"""An owner thread and its callers wait on one condition, and whoever changes something wakes one of them.

With one caller there is never anybody else to wake. With two, the owner's answer may wake the caller that it is not
for, or a new message may wake a caller instead of the owner; the one it was meant for sleeps on. Source: plausible;
notify where it must be notify_all. Betrayed by calls of several threads that never return.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from owner_thread import Message, Owner, OwnerThreadIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")
R = TypeVar("R")

Inbox: TypeAlias = deque[Message[Any] | None]


class SleepyOwner(Owner):
    """An inbox with a condition instead of a queue with events."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._messages: Inbox = deque()
        self._thread = threading.Thread(target=_serve, args=(self._changed, self._messages), name="owner", daemon=True)
        self._thread.start()
        weakref.finalize(self, _post, self._changed, self._messages, None)

    def ask(self, call: Callable[[], R]) -> R:
        message = Message(call)
        with self._changed:
            _post(self._changed, self._messages, message)
            self._changed.wait_for(message.answered.is_set)
        return message.outcome()

    def close(self) -> None:
        _post(self._changed, self._messages, None)


def _post(changed: threading.Condition, messages: Inbox, message: Message[Any] | None) -> None:
    with changed:
        messages.append(message)
        changed.notify()


def _serve(changed: threading.Condition, messages: Inbox) -> None:
    while True:
        with changed:
            changed.wait_for(lambda: messages)
            message = messages.popleft()
        if message is None:
            return
        message.carry_out()
        del message
        with changed:
            changed.notify()


class LostWakeup(OwnerThreadIndexer[T]):
    """A textbook Indexer in the hands of that owner."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        super().__init__(key_func, indexers, semantics, SleepyOwner())


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return LostWakeup(key_func, indexers, semantics)
