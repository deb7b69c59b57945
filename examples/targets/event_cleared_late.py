"""An owner thread that waits for an event, empties its inbox, and then clears the event.

It clears when nothing is left, which reads well; but what comes after the last look and before the clearing is in the
inbox with nobody to say so. With one caller nothing can come then, since it waits for its answer. Source: plausible.
Broken by T1's call, which the owner has taken out; T2's call, put in with the event set; the owner clears it. Betrayed
by T2's call, which never returns unless another one comes later. The correct twin is `event_hand_over`.
"""

from __future__ import annotations

from typing import Any

from event_hand_over import Mailbox, MailboxOwner
from owner_thread import Message, OwnerThreadIndexer

from kcache import Indexer, Indexers, KeyFunc


class HastyMailbox(Mailbox):
    """Looks first."""

    def collect(self) -> list[Message[Any] | None]:
        self._news.wait()
        found = self._emptied()
        self._news.clear()
        return found


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return OwnerThreadIndexer(key_func, indexers, semantics, MailboxOwner(HastyMailbox()))
