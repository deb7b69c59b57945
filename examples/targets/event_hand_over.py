"""An owner thread whose inbox is a deque with an event that says that there is something in it.

Correct. A call takes effect when the owner carries it out. No message is overlooked: the event is set after the message
was put in, and the owner clears the event before it looks; so a message that it does not see sets the event afterwards,
and the owner comes back. To come back for nothing does no harm. The twin `event_cleared_late` clears after it looked.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from owner_thread import Message, Owner, OwnerThreadIndexer

from kcache import Indexer, Indexers, KeyFunc

R = TypeVar("R")


class Mailbox:
    """Messages to the owner; None is the last one."""

    def __init__(self) -> None:
        self._messages: deque[Message[Any] | None] = deque()
        self._news = threading.Event()

    def post(self, message: Message[Any] | None) -> None:
        self._messages.append(message)
        self._news.set()

    def collect(self) -> list[Message[Any] | None]:
        """Wait for news, and take out all that there is."""
        self._news.wait()
        self._news.clear()
        return self._emptied()

    def _emptied(self) -> list[Message[Any] | None]:
        found = []
        while self._messages:
            found.append(self._messages.popleft())
        return found


class MailboxOwner(Owner):
    """Carries out what is in its mailbox. Index functions must not call the store."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._closing = threading.Lock()
        self._closed = False
        self._mailbox = mailbox
        self._thread = threading.Thread(target=_serve, args=(mailbox,), name="owner", daemon=True)
        self._thread.start()
        weakref.finalize(self, mailbox.post, None)

    def ask(self, call: Callable[[], R]) -> R:
        message = Message(call)
        with self._closing:
            if self._closed:
                raise RuntimeError("this indexer was closed")
            self._mailbox.post(message)
        message.answered.wait()
        return message.outcome()

    def close(self) -> None:
        with self._closing:
            self._closed = True
            self._mailbox.post(None)
        self._thread.join()


def _serve(mailbox: Mailbox) -> None:
    while _served(mailbox.collect()):
        pass


def _served(messages: list[Message[Any] | None]) -> bool:
    """Carry the messages out; False after the last one."""
    for message in messages:
        if message is None:
            return False
        message.carry_out()
    return True


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return OwnerThreadIndexer(key_func, indexers, semantics, MailboxOwner(Mailbox()))
