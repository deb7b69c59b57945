"""list keeps its result together with the version of the store, but reads the version after it gave the lock back.

A write that comes between the copy and the look at the version makes an old copy look new. Source: plausible; a stamp
must be read before the data or together with it. Broken after add by T1's list, which has copied; T2's update from
beginning to end; T1 reads the version of that update. Betrayed by list until the next write: it lacks the update. The
correct twin is `versioned_list`.
"""

from __future__ import annotations

import builtins
from typing import Any, TypeVar

from textbook import TextbookIndexer
from versioned_list import VersionedListIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class VersionReadLate(VersionedListIndexer[T]):
    """Copies first, stamps then."""

    def _copied(self) -> tuple[int, builtins.list[T]]:
        objs = TextbookIndexer.list(self)
        return self._version, objs


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return VersionReadLate(key_func, indexers, semantics)
