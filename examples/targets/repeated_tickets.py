"""Writes carry tickets, the newest wins, and the counter that the tickets come from is not protected.

That two writes at once may draw the same number is even harmless: either may win. But a late store of the counter sets
it back, and later writes draw numbers that were used. Source: plausible; the lost update. Broken by T1's add, which has
read the counter; T2's add and update from beginning to end; T1 stores 1; T1's update draws 2, as T2's did before, and
is dropped. Betrayed by get_by_key after an update that returned and left no trace. The correct twin is `tickets`.
"""

from __future__ import annotations

from typing import Any, TypeVar

from tickets import TicketedIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class RepeatedTickets(TicketedIndexer[T]):
    """Counts without a lock."""

    def _draw(self) -> int:
        ticket = self._drawn + 1
        self._drawn = ticket
        return ticket


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return RepeatedTickets(key_func, indexers, semantics)
