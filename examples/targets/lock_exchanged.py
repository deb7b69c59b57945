"""replace starts over with everything new, the lock included.

Whoever waits for the old lock gets it when replace has gone, and whoever comes later takes the new one: both are
inside. Source: plausible; a reset that does all that the constructor does. Broken by T1's replace, under the old lock;
T2's update, which waits for that one; replace returns, T2 is in the middle of its update, and T1's by_index takes the
new lock. Betrayed by a lookup that runs into a write: a KeyError, or an object missing that is stored all the time.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar

from textbook import TextbookIndexer, Values

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class LockExchanged(TextbookIndexer[T]):
    """Resets itself."""

    def _fill(self, items: dict[str, T], values: dict[str, Values]) -> None:
        super()._fill(items, values)
        self._lock = threading.RLock()


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return LockExchanged(key_func, indexers, semantics)
