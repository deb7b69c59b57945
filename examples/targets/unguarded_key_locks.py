"""A lock for each key, made by the first write of the key, in a dict that nothing protects.

Two first writes at the same time may get a lock each, and then neither keeps the other out. Source: plausible; `if key
not in locks` instead of a guard or setdefault. Broken by T1's add of a new key, which finds no lock; T2's add of the
same key with another value, which makes one, takes it, and looks what the key was indexed under: nothing; T1 makes
another lock and finds the same. Betrayed by by_index afterwards: the object is under the value of each. The correct
twin is `key_locks`.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar

from key_locks import KeyLocksIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class UnguardedKeyLocks(KeyLocksIndexer[T]):
    """Guards the keys, not the locks."""

    def _lock_of(self, key: str) -> threading.Lock:
        if key not in self._key_locks:
            self._key_locks[key] = threading.Lock()
        return self._key_locks[key]


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return UnguardedKeyLocks(key_func, indexers, semantics)
